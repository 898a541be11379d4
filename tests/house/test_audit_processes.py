"""The audit by several processes finds the same as the audit by one."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from tests.house.setting import People
from tests.house.test_auditor import append, play
from tests.house.test_statements import ROUND, keep
from tests.log.logs import bet, tampering
from threedice.account.events import Deposited
from threedice.house import CommandHandler
from threedice.house.audit.auditor import audit
from threedice.house.audit.processes import ProcessFailed, start_processes, useful_processes
from threedice.house.house import House
from threedice.log.proof.keys import open_keys, read_public_keys
from threedice.log.proof.verification import SignedHashes
from threedice.log.stores import schema
from threedice.log.stores.memory import MemoryStore
from threedice.log.stores.rows import open_rows
from threedice.log.stores.urls import open_store

if TYPE_CHECKING:
    from pathlib import Path

    from tests.log.postgres_server import PostgresServer
    from threedice.log.proof import VerificationReport
    from threedice.log.stores.sqlite import SqliteStore

pytestmark = pytest.mark.anyio


def reports(store: SqliteStore, tmp_path: Path) -> tuple[VerificationReport, VerificationReport]:
    """Return what one process finds, and what two others find."""
    keys = open_keys(tmp_path / "state").public
    return (
        audit(store, public_keys=keys, processes=0),
        audit(store, public_keys=keys, processes=2),
    )


async def test_a_sound_house_is_sound_to_several_processes(
    store: SqliteStore, tmp_path: Path
) -> None:
    await play(store, tmp_path)

    here, divided = reports(store, tmp_path)

    assert divided == here
    assert divided.is_sound
    assert divided.entries == sum(head.version for head in store.heads().values())


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE entries SET at = at + 1 WHERE stream = 'table/1' AND version = 9",
        "UPDATE entries SET stream = CAST(x'ff' AS TEXT) WHERE stream = 'cage/cat'",
        "DELETE FROM streams WHERE stream = 'table/1'",
        "UPDATE answers SET command_hash = zeroblob(32) WHERE rowid = 5",
        "UPDATE lines SET data = x'7b7d' WHERE rowid = 3",
        "UPDATE snapshots SET stream = 'table/9' WHERE stream = 'cage/cat'",
        "DELETE FROM games",
        "DROP TABLE streams",
    ],
)
async def test_a_change_is_found_by_several_processes_too(
    change: str, store: SqliteStore, tmp_path: Path
) -> None:
    await play(store, tmp_path)
    with tampering(store.path) as run:
        run(change)

    here, divided = reports(store, tmp_path)

    assert set(divided.findings) == set(here.findings)
    assert not here.is_sound


async def test_money_that_no_table_paid_out_is_found_across_streams(
    store: SqliteStore, tmp_path: Path
) -> None:
    await play(store, tmp_path)
    append(store, "cage/cat", Deposited(player="cat", amount=700, by="cashier"))

    here, divided = reports(store, tmp_path)

    assert divided == here


def url_of(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    if kind == "sqlite":
        return f"sqlite:///{tmp_path}/house.sqlite"
    server: PostgresServer = request.getfixturevalue("postgres")
    return server.fresh()


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_all_processes_read_the_log_as_of_one_moment(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    with closing(open_store(url_of(kind, tmp_path, request))) as store:
        bet(store, "table/1", "table/2", entries=3)
        with open_rows(store) as rows, start_processes(rows, 2) as others:
            bet(store, "table/1", "table/3")
            checks = [check for check, _ in others.start(SignedHashes(), b"key", None)]
            here = sum(len(chunk) for chunk in rows.chunks(schema.entries))

    assert sum(check.entries for check in checks) == here == 6


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_a_house_that_is_playing_is_sound_to_several_processes(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = url_of(kind, tmp_path, request)
    async with House(url, state_dir=tmp_path / "state") as house:
        people = People(house.command_handler)
        await people.open()
        stop, rounds = asyncio.Event(), 0

        async def play_on() -> None:
            nonlocal rounds
            while not stop.is_set():
                await people.play("open betting", "ann bets 100 on big", "dice 6 5 4")
                await people.play("open betting", "ann bets 100 on big", "dice 1 2 1")
                keep(house.command_handler.store, house.command_handler)
                rounds += 1

        playing = asyncio.create_task(play_on())
        with closing(open_store(url)) as beside:
            for _ in range(2):
                before, keys = rounds, read_public_keys(house.state_dir)
                report = await asyncio.to_thread(audit, beside, public_keys=keys, processes=2)
                assert report.findings == ()
                assert rounds > before  # it was written meanwhile
            stop.set()
            await playing


async def test_progress_of_several_processes_ends_with_all_entries(
    store: SqliteStore, tmp_path: Path
) -> None:
    await play(store, tmp_path)
    heard: list[tuple[int, int]] = []

    report = audit(store, public_keys={}, processes=2, progress=lambda *done: heard.append(done))

    assert heard[-1] == (report.entries, report.entries)


async def test_a_house_in_memory_is_audited_by_one_process() -> None:
    store = MemoryStore()
    async with CommandHandler(store) as handler:
        people = People(handler)
        await people.open()
        await people.play(*ROUND)

    assert audit(store, public_keys={}, processes=2).is_sound


async def test_processes_that_do_not_start_leave_the_work_to_this_one(
    store: SqliteStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await play(store, tmp_path)
    monkeypatch.setattr(sys, "executable", "/bin/false")

    here, divided = reports(store, tmp_path)
    assert divided == here

    with open_rows(store) as rows, pytest.raises(ProcessFailed), start_processes(rows, 1):
        pass


async def test_a_file_that_others_keep_locked_is_audited_by_one_process(
    store: SqliteStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await play(store, tmp_path)
    monkeypatch.setattr("threedice.db.sqlite.BUSY_TIMEOUT_SECONDS", 0.0)

    with closing(sqlite3.connect(store.path, isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        here, divided = reports(store, tmp_path)

    assert divided == here


async def test_a_small_log_is_worth_no_processes(store: SqliteStore, tmp_path: Path) -> None:
    await play(store, tmp_path)

    with open_rows(store) as rows:
        assert useful_processes(rows) == 0
