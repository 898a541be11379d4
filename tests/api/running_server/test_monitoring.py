"""Health, metrics and the journal of a running server."""

from __future__ import annotations

import asyncio
import io
import logging
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import msgspec
import psycopg
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.api.live_server import receive
from threedice import __version__
from threedice.api.http import journal
from threedice.api.live.hub import MonitorState
from threedice.api.routes.house import StoreProbe, check_health
from threedice.errors import StoreUnavailable, StoreUnusable
from threedice.house.house import House
from threedice.log.halt_causes import classify_halt
from threedice.log.stores.memory import MemoryStore
from threedice.version import build_id

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.api.live_server import LiveServer
    from tests.log.postgres_server import PostgresServer


async def get(server: LiveServer, path: str, token: str = "", **headers: str) -> httpx.Response:
    if token:
        headers["Authorization"] = f"Bearer {token}"
    async with httpx.AsyncClient() as client:
        return await client.get(f"{server.origin}{path}", headers=headers)


# --- health -------------------------------------------------------------------------------------


@pytest.mark.anyio
async def test_health_of_a_working_house_is_well(server: LiveServer) -> None:
    answer = await get(server, "/health", Host="10.0.0.1")
    assert answer.status_code == 200
    assert answer.json()["status"] == "well"
    assert answer.json()["store"] == "answers"
    assert answer.json()["reasons"] == []
    assert (answer.json()["version"], answer.json()["build"]) == (__version__, build_id())


@pytest.mark.anyio
async def test_health_of_a_suspended_house_is_503_with_the_class_of_its_cause(
    server: LiveServer,
) -> None:
    writer = server.handler.streams.writer
    writer.suspend("postgresql://user:secret@db/house: no space left on device")
    try:
        answer = await get(server, "/health")
    finally:
        writer.halt_reason = ""
    assert answer.status_code == 503
    assert (answer.json()["status"], answer.json()["store"]) == ("suspended", "suspended")
    (reason,) = answer.json()["reasons"]
    assert (reason["code"], reason["cause"]) == ("writing-halted", "disk-full")
    assert "threedice release" in reason["text"]
    assert "secret" not in answer.text
    assert "db/house" not in answer.text


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("the store could not write: database or disk is full", "disk-full"),
        ("could not extend file: No space left on device", "disk-full"),
        ("attempt to write a readonly database", "read-only"),
        ("h.sqlite could not be written (disk I/O error); check the disk", "io-error"),
        ("could not fsync file: Input/output error", "io-error"),
        ("h.sqlite has tables of version 9, this program knows version 3", "newer-database"),
        ("the store could not write: KeyError", "other"),
    ],
)
def test_halts_are_classified_by_their_text(text: str, cause: str) -> None:
    assert classify_halt(text) == cause


@pytest.mark.anyio
async def test_health_reports_background_errors_and_damaged_tables(server: LiveServer) -> None:
    house = server.context.house
    house.background_error = "the checkpoint could not be signed"
    stopped = house.command_handler.streams.stopped
    stopped["table/9"] = "table/9: float holds 5 by the state, but its postings sum to 6"
    try:
        answer = await get(server, "/health")
    finally:
        house.background_error = ""
        stopped.clear()
    assert answer.status_code == 200
    health = answer.json()
    assert (health["status"], health["books"], health["damaged"]) == ("trouble", "behind", 1)
    assert reason_codes(answer) == ["table-damaged", "checkpoints-behind"]
    assert "table/9" not in answer.text


def reason_codes(answer: httpx.Response) -> list[str]:
    return [reason["code"] for reason in answer.json()["reasons"]]


@pytest.mark.anyio
async def test_health_says_that_statements_are_behind(server: LiveServer) -> None:
    house = server.context.house
    house.lagging["player/ann"] = house.background_error = "player/ann: cannot be read"
    try:
        answer = await get(server, "/health")
    finally:
        house.lagging.clear()
        house.background_error = ""
    assert reason_codes(answer) == ["statements-behind"]
    assert "ann" not in answer.text


@pytest.mark.anyio
async def test_health_reports_an_unavailable_store_and_caches_the_probe(
    server: LiveServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = server.context.house
    probed: list[str] = []

    def fail(stream: str) -> Any:
        probed.append(stream)
        raise StoreUnavailable("no answer in time")

    probe = StoreProbe(house)
    monkeypatch.setattr(house.command_handler.store, "head", fail)
    health = await check_health(house, probe)
    assert (health.status, health.store) == ("away", "away")
    assert [reason.code for reason in health.reasons] == ["database-unavailable"]
    await check_health(house, probe)
    assert len(probed) == 1  # the result of a probe is cached
    stopping = await check_health(house, probe, stopping=True)
    assert (stopping.status, stopping.reasons[0].code) == ("stopping", "stopping")


@pytest.mark.anyio
async def test_server_on_an_upgraded_database_is_suspended(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    url = postgres.fresh()
    async with House(url, state_dir=tmp_path) as house:
        probe = StoreProbe(house)
        assert (await check_health(house, probe)).status == "well"
        with psycopg.connect(url, autocommit=True) as newer_server:
            newer_server.execute("INSERT INTO schema_versions (version) VALUES (9)")

        async with asyncio.timeout(60):
            while (await check_health(house, probe)).status != "suspended":
                await asyncio.sleep(0.05)  # the house polls every two seconds
        assert "version 9, this program knows version" in house.command_handler.suspension_reason
        (reason,) = (await check_health(house, probe)).reasons
        assert reason.code == "newer-database"
        with pytest.raises(StoreUnusable, match="version 9"):
            await house.release("sue", "it was upgraded")


# --- metrics ------------------------------------------------------------------------------------


def samples(text: str) -> dict[str, float]:
    return {
        f"{sample.name}{sorted(sample.labels.values()) or ''}": sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


@pytest.mark.anyio
async def test_metrics_count_bets_settlements_and_refusals(server: LiveServer) -> None:
    before = samples((await get(server, "/metrics")).text)
    ids = await server.seat(ann=1000)
    await server.play("open betting")
    await server.bet(ids["ann"], 50, "big")
    await server.play("dice 4 5 6")
    async with server.follow(server.create_token("bob", "player")) as socket:
        await receive(socket)
        await get(server, "/api/tables", "td_nobody")
        answer = await get(server, "/metrics")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    after = samples(answer.text)
    assert after["threedice_bets_total"] - before.get("threedice_bets_total", 0) == 1
    assert after["threedice_settlements_total"] - before["threedice_settlements_total"] == 1
    assert after["threedice_subscribers['player']"] == 1
    refusals = "threedice_refusals_total['door/sign-in']"
    assert after[refusals] - before.get(refusals, 0) == 1
    assert after["threedice_batches_total"] > before["threedice_batches_total"]
    assert after["threedice_queue_depth"] == 0
    assert "threedice_command_seconds_count" in after


@pytest.mark.anyio
async def test_metrics_behind_a_proxy_require_a_permitted_token(server: LiveServer) -> None:
    context = server.context
    context.behind_proxy = True  # clients may then all have the address of the proxy
    try:
        assert (await get(server, "/metrics")).status_code == 401
        player = server.create_token("ann", "player", ["read", "metrics"])
        assert (await get(server, "/metrics", player)).status_code == 403
        reader = server.create_token("eve", "auditor", ["read"])
        assert (await get(server, "/metrics", reader)).status_code == 403
        scraper = server.create_token("eve", "auditor", ["metrics"])
        assert (await get(server, "/metrics", scraper)).status_code == 200
    finally:
        context.behind_proxy = False


# --- the journal --------------------------------------------------------------------------------


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    with open_test_journal() as stream:
        yield stream


@contextmanager
def open_test_journal(**options: Any) -> Iterator[io.StringIO]:
    stream = io.StringIO()
    root = logging.getLogger()
    level, handlers = root.level, {name: _state(name) for name in journal.QUIET_LOGGERS}
    opened = journal.open_journal(stream, **options)
    yield stream
    journal.close_journal(opened)
    root.setLevel(level)
    for name, (propagate, quiet_level) in handlers.items():
        logging.getLogger(name).propagate = propagate
        logging.getLogger(name).setLevel(quiet_level)


def _state(name: str) -> tuple[bool, int]:
    logger = logging.getLogger(name)
    return logger.propagate, logger.level


def test_journal_line_is_json_with_the_request_id(lines: io.StringIO) -> None:
    token = journal.REQUEST_ID.set("r-1")
    journal.write("listening", tables=3)
    journal.REQUEST_ID.reset(token)
    (line,) = lines.getvalue().splitlines()
    fields = msgspec.json.decode(line)
    assert (fields["what"], fields["tables"], fields["level"]) == ("listening", 3, "info")
    assert fields["request"] == "r-1"


@pytest.mark.anyio
async def test_each_change_of_the_background_error_is_logged_once(
    lines: io.StringIO, tmp_path: Path
) -> None:
    damage, disk = "table/1: version 4 breaks the chain", "the checkpoint could not be signed"
    seen = MonitorState(suspended=False)
    async with House("memory:", store=MemoryStore(), state_dir=tmp_path) as house:
        for house.background_error in (damage, damage, disk, damage, ""):
            seen.note_house(house)
    journal_lines = [msgspec.json.decode(line) for line in lines.getvalue().splitlines()]
    assert [(each["what"], each["cause"]) for each in journal_lines] == [
        ("books-behind", damage),
        ("books-behind", disk),
        ("books-behind", damage),
        ("books-kept", ""),
    ]


def test_journal_logs_errors_by_type_and_location_without_the_message(lines: io.StringIO) -> None:
    try:
        raise ValueError("password=hunter2 of ann")
    except ValueError as error:
        journal.warn("socket-failed", error)
        logging.getLogger("uvicorn.error").exception("Exception in ASGI application\n")
    first, second = map(msgspec.json.decode, lines.getvalue().splitlines())
    assert (first["error"], second["error"]) == ("ValueError", "ValueError")
    assert Path(__file__).name in first["where"]
    assert "hunter2" not in lines.getvalue()
    assert "Traceback" not in lines.getvalue()


def test_journal_omits_access_lines(lines: io.StringIO) -> None:
    logging.getLogger("uvicorn.access").info("GET /api/session from 192.0.2.7")
    logging.getLogger("uvicorn.error").info("192.0.2.7 - connection open")
    assert lines.getvalue() == ""


def test_journal_at_a_terminal_is_plain_text() -> None:
    record = logging.LogRecord("threedice", logging.WARNING, "", 0, "people-away", None, None)
    record.facts = {"table": "pit-1"}
    assert (
        journal.JournalFormatter(plain=True).format(record)[8:]
        == " warning: people-away table=pit-1"
    )


# --- journal lines that clients cause -----------------------------------------------------------

MALFORMED = {
    "Invalid HTTP request received.": b"nonsense\r\n\r\n",
    "Unsupported upgrade request.": b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    b"Connection: close, upgrade\r\nUpgrade: h2c\r\n\r\n",
}
FLOOD = 50


async def send_malformed(server: LiveServer, request: bytes, times: int = 1) -> None:
    for _ in range(times):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(request)
        assert (await reader.read()).startswith(b"HTTP/1.1 ")
        writer.close()


def decode_lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [msgspec.json.decode(line) for line in stream.getvalue().splitlines()]


@pytest.mark.anyio
@pytest.mark.parametrize("message", MALFORMED)
async def test_flood_of_malformed_requests_is_summarised_in_the_journal(
    server: LiveServer, message: str
) -> None:
    now = [0.0]
    with open_test_journal(clock=lambda: now[0]) as stream:
        await send_malformed(server, MALFORMED[message], FLOOD)
        first = decode_lines(stream)
        now[0] += 10.0
        await send_malformed(server, MALFORMED[message])
        then = decode_lines(stream)[len(first) :]
    assert 0 < len(first) < 5
    assert {line["what"] for line in first} == {message}
    assert [line["what"] for line in then] == ["lines-suppressed", message]
    assert (then[0]["lines"], then[0]["message"]) == (FLOOD - len(first), message)
    assert "request" not in then[0]


@pytest.mark.anyio
async def test_suppressed_journal_lines_are_counted_at_the_next_line_or_at_the_end(
    server: LiveServer,
) -> None:
    (message, request), *_ = MALFORMED.items()
    with open_test_journal(clock=lambda: 0.0) as stream:
        await send_malformed(server, request, FLOOD)
        journal.write("listening", tables=3)
        await send_malformed(server, request)
    journal_lines = decode_lines(stream)
    assert [line["what"] for line in journal_lines[-3:]] == [
        "lines-suppressed",
        "listening",
        "lines-suppressed",
    ]
    written = sum(line["what"] == message for line in journal_lines)
    assert written + journal_lines[-3]["lines"] + journal_lines[-1]["lines"] == FLOOD + 1


def test_journal_lines_about_the_house_are_never_suppressed() -> None:
    with open_test_journal(clock=lambda: 0.0) as stream:
        for _ in range(FLOOD):
            journal.warn("suspended", cause="disk")
    assert len(decode_lines(stream)) == FLOOD


def test_repeated_defect_is_summarised_and_another_defect_is_not() -> None:
    with open_test_journal(clock=lambda: 0.0) as stream:
        for _ in range(FLOOD):
            journal.warn("defect", ValueError())
            logging.getLogger("uvicorn.error").error("Exception in ASGI application")
        journal.warn("defect", KeyError())
    lines = decode_lines(stream)
    assert len(lines) <= 4 * journal.LINES_AT_ONCE
    assert lines[-1]["error"] == "KeyError"
    counted = sum(line["lines"] for line in lines if line["what"] == "lines-suppressed")
    assert counted == 2 * (FLOOD - journal.LINES_AT_ONCE)


def test_line_that_a_library_logs_after_the_journal_was_closed_is_json(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with open_test_journal(plain=False):
        pass

    root, library = logging.getLogger(), logging.getLogger("psycopg")
    handlers, root.handlers = root.handlers, []  # pytest adds its own
    library.warning("error ignored in rollback on %s: %s", "a connection", "it was lost")
    root.handlers = handlers

    line = msgspec.json.decode(capsys.readouterr().err)
    assert (line["by"], line["level"]) == ("psycopg", "warning")
    assert line["what"].startswith("error ignored in rollback")
