"""The audit by worker processes reports the same findings as the audit by one process."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from tests.house.house_driver import ROUND, People, store_statements
from tests.house.test_auditor import append, play
from tests.log.inspection import tampering
from tests.log.proposals import bet
from threedice.account.events import Deposited
from threedice.house import CommandHandler
from threedice.house.audit.auditor import audit
from threedice.house.audit.processes import ProcessFailed, start_processes, useful_processes
from threedice.house.house import House
from threedice.log.proof.checkpoint_verification import SignedHashes
from threedice.log.proof.keys import open_keys, read_public_keys
from threedice.log.stores import schema
from threedice.log.stores.memory import MemoryStore
from threedice.log.stores.rows import open_rows
from threedice.log.stores.urls import open_store
from threedice.version import PACKAGE

if TYPE_CHECKING:
    from pathlib import Path

    from tests.log.postgres_server import PostgresServer
    from threedice.log.proof import VerificationReport
    from threedice.log.stores.sqlite import SqliteStore

pytestmark = pytest.mark.anyio


def reports(store: SqliteStore, tmp_path: Path) -> tuple[VerificationReport, VerificationReport]:
    """Return the reports of the audit without and with two worker processes."""
    keys = open_keys(tmp_path / "state").public
    return (
        audit(store, public_keys=keys, processes=0),
        audit(store, public_keys=keys, processes=2),
    )


async def test_untampered_log_passes_a_multi_process_audit(
    store: SqliteStore, tmp_path: Path
) -> None:
    await play(store, tmp_path)

    single, multi = reports(store, tmp_path)

    assert multi == single
    assert multi.is_sound
    assert multi.entries == sum(head.version for head in store.heads().values())


TAMPERINGS = {
    "rows-of-every-table": (
        "UPDATE entries SET at = at + 1 WHERE stream = 'table/1' AND version = 9",
        "UPDATE answers SET command_hash = zeroblob(32) WHERE rowid = 5",
        "UPDATE lines SET data = x'7b7d' WHERE rowid = 3",
        "UPDATE snapshots SET stream = 'table/9' WHERE stream = 'cage/cat'",
        "DELETE FROM games",
    ),
    "stream-name-not-utf8": (
        "UPDATE entries SET stream = CAST(x'ff' AS TEXT) WHERE stream = 'cage/cat'",
    ),
    "missing-head": ("DELETE FROM streams WHERE stream = 'table/1'",),
    "missing-table": ("DROP TABLE streams",),
}


@pytest.mark.parametrize("changes", TAMPERINGS.values(), ids=TAMPERINGS)
async def test_multi_process_audit_finds_the_same_tampering_as_one_process(
    changes: tuple[str, ...], store: SqliteStore, tmp_path: Path
) -> None:
    await play(store, tmp_path)
    with tampering(store.path) as run:
        for change in changes:
            run(change)

    single, multi = reports(store, tmp_path)

    assert set(multi.findings) == set(single.findings)
    assert len(single.findings) >= len(changes)


async def test_multi_process_audit_of_a_forged_deposit_equals_that_of_one_process(
    store: SqliteStore, tmp_path: Path
) -> None:
    await play(store, tmp_path)
    append(store, "cage/cat", Deposited(player="cat", amount=700, by="cashier"))

    single, multi = reports(store, tmp_path)

    assert multi == single


def database_url(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    if kind == "sqlite":
        return f"sqlite:///{tmp_path}/house.sqlite"
    server: PostgresServer = request.getfixturevalue("postgres")
    return server.fresh()


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_audit_processes_share_one_snapshot_of_the_log(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    with closing(open_store(database_url(kind, tmp_path, request))) as store:
        bet(store, "table/1", "table/2", entries=3)
        with open_rows(store) as rows, start_processes(rows, 2) as workers:
            bet(store, "table/1", "table/3")
            checks = [check for check, _ in workers.start(SignedHashes(), b"key", None)]
            here = sum(len(chunk) for chunk in rows.chunks(schema.entries))

    assert sum(check.entries for check in checks) == here == 6


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_multi_process_audit_passes_while_rounds_are_played(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = database_url(kind, tmp_path, request)
    async with House(url, state_dir=tmp_path / "state") as house:
        people = People(house.command_handler)
        await people.open()
        stop, rounds = asyncio.Event(), 0

        async def play_on() -> None:
            nonlocal rounds
            while not stop.is_set():
                await people.play("open betting", "ann bets 100 on big", "dice 6 5 4")
                await people.play("open betting", "ann bets 100 on big", "dice 1 2 1")
                store_statements(house.command_handler.store, house.command_handler)
                rounds += 1

        playing = asyncio.create_task(play_on())
        with closing(open_store(url)) as reader:
            for _ in range(2):
                before, keys = rounds, read_public_keys(house.state_dir)
                report = await asyncio.to_thread(audit, reader, public_keys=keys, processes=2)
                assert report.findings == ()
                assert rounds > before  # entries were written meanwhile
            stop.set()
            await playing


async def test_audit_starts_no_processes_of_another_build(
    store: SqliteStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(PACKAGE, tmp_path / "threedice")
    with (tmp_path / "threedice" / "errors.py").open("a", encoding="utf-8") as replaced:
        replaced.write("\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    with (
        open_rows(store) as rows,
        pytest.raises(ProcessFailed, match="the program was replaced"),
        start_processes(rows, 1),
    ):
        pass


async def test_multi_process_audit_reports_progress_up_to_the_last_entry(
    store: SqliteStore, tmp_path: Path
) -> None:
    await play(store, tmp_path)
    progress: list[tuple[int, int]] = []

    report = audit(store, public_keys={}, processes=2, progress=lambda *done: progress.append(done))

    assert progress[-1] == (report.entries, report.entries)


async def test_memory_store_is_audited_in_the_calling_process() -> None:
    store = MemoryStore()
    async with CommandHandler(store) as handler:
        people = People(handler)
        await people.open()
        await people.play(*ROUND)

    assert audit(store, public_keys={}, processes=2).is_sound


async def test_audit_runs_in_one_process_when_workers_do_not_start(
    store: SqliteStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await play(store, tmp_path)
    monkeypatch.setattr(sys, "executable", "/bin/false")

    single, multi = reports(store, tmp_path)
    assert multi == single

    with open_rows(store) as rows, pytest.raises(ProcessFailed), start_processes(rows, 1):
        pass


async def test_audit_runs_in_one_process_when_the_file_is_locked(
    store: SqliteStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await play(store, tmp_path)
    monkeypatch.setattr("threedice.db.sqlite.BUSY_TIMEOUT_SECONDS", 0.0)

    with closing(sqlite3.connect(store.path, isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        single, multi = reports(store, tmp_path)

    assert multi == single


async def test_small_log_is_audited_without_worker_processes(
    store: SqliteStore, tmp_path: Path
) -> None:
    await play(store, tmp_path)

    with open_rows(store) as rows:
        assert useful_processes(rows) == 0
