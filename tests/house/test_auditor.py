"""The audit finds changes in the log and in the data derived from it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import msgspec
import pytest

from tests.house.house_driver import ROUND, SUPERVISOR, People, player, store_statements
from tests.log.inspection import tampering
from threedice.account.commands import Deposit, OpenAccount
from threedice.house import CommandHandler
from threedice.house.audit.auditor import audit
from threedice.house.codec import encode
from threedice.house.commands import EstablishTable
from threedice.house.house import House
from threedice.house.reports.projection import FORMER_VIEWS, VIEW
from threedice.log.entry import Head, extend_stream, hash_cause
from threedice.log.proof.checkpoints import CheckpointSigner
from threedice.log.proof.keys import open_keys, read_public_keys
from threedice.log.records import Append, ProjectionLine, Proposal
from threedice.log.stores.sqlite import SqliteStore
from threedice.log.stores.urls import open_store
from threedice.table import commands
from threedice.table.events import BetPlaced, FloatFilled, WinnersPaid

if TYPE_CHECKING:
    from pathlib import Path

    from threedice.house.events import AnyStreamEvent
    from threedice.log.proof import VerificationReport

pytestmark = pytest.mark.anyio


async def play(store: SqliteStore, tmp_path: Path) -> None:
    """Play some rounds, with snapshots, statement rows and a checkpoint."""
    async with CommandHandler(store, state_dir=tmp_path / "state") as handler:
        people = People(handler)
        await people.open()
        await people.send(OpenAccount(by="cashier", player="cat", currency="SGD"))
        await people.send(Deposit(by="cashier", player="cat", amount=500))
        await people.send(
            commands.BuyIn(by=player("cat"), player="cat", amount=300, source="account")
        )
        await people.play(*ROUND, *ROUND, "open betting", "cat bets 50 on big")
        store_statements(store, handler)
    CheckpointSigner(store, open_keys(tmp_path / "state"), tmp_path / "state").create_checkpoint(1)


def findings(store: SqliteStore, tmp_path: Path) -> list[str]:
    return [str(each) for each in report(store, tmp_path).findings]


def report(store: SqliteStore, tmp_path: Path) -> VerificationReport:
    return audit(store, public_keys=open_keys(tmp_path / "state").public)


def append(store: SqliteStore, stream: str, event: AnyStreamEvent) -> None:
    """Append an event that no command caused, with a valid hash chain."""
    head, digest = store.head(stream), bytes(32)
    key = f"forged {head.version}"
    entries, _ = extend_stream(head, stream, 2**50, hash_cause("x", key, digest), [encode(event)])
    store.write([Proposal("x", key, digest, (Append(stream, head, entries),))])


async def test_audit_of_an_untampered_house_has_no_findings(
    store: SqliteStore, tmp_path: Path
) -> None:
    await play(store, tmp_path)

    found = report(store, tmp_path)

    assert found.findings == ()
    assert (found.streams, found.games, found.checkpoints) == (2, 1, 1)
    assert found.entries == sum(head.version for head in store.heads().values())


async def test_audit_finds_a_snapshot_that_differs_from_the_replayed_state(
    store: SqliteStore, tmp_path: Path
) -> None:
    await play(store, tmp_path)
    snapshot = store.snapshot("cage/cat", "state")
    assert snapshot is not None

    store.save_snapshot(
        msgspec.structs.replace(snapshot, data=snapshot.data.replace(b"SGD", b"NZD"))
    )
    assert findings(store, tmp_path) == [
        f"snapshot of cage/cat at version {snapshot.head.version}: differs from the replayed state"
    ]
    store.save_snapshot(msgspec.structs.replace(snapshot, data=b"nonsense"))
    assert "cannot be read" in findings(store, tmp_path)[0]
    store.save_snapshot(
        msgspec.structs.replace(snapshot, head=Head(snapshot.head.version, bytes(32)))
    )
    assert "belongs to another entry" in findings(store, tmp_path)[0]
    store.save_snapshot(msgspec.structs.replace(snapshot, head=Head(99, bytes(32))))
    assert "goes further than the stream" in findings(store, tmp_path)[0]
    store.save_snapshot(msgspec.structs.replace(snapshot, stream="cage/nobody"))
    assert any("the stream has no entries" in each for each in findings(store, tmp_path))


async def test_audit_ignores_a_snapshot_of_an_older_form(
    store: SqliteStore, tmp_path: Path
) -> None:
    await play(store, tmp_path)
    snapshot = store.snapshot("cage/cat", "state")
    assert snapshot is not None

    store.save_snapshot(msgspec.structs.replace(snapshot, form="account-0", data=b"old"))

    assert findings(store, tmp_path) == []


async def test_audit_finds_a_forged_statement_row(store: SqliteStore, tmp_path: Path) -> None:
    await play(store, tmp_path)
    reached = store.projected_version(VIEW, "table/1")
    line = ProjectionLine(
        VIEW, "ann", "table/1", reached + 1, 0, 5, b'{"what":"won","amount":1000}'
    )

    store.project(VIEW, "table/1", reached, reached + 1, [line])

    where = f"books of table/1 version {reached + 1}"
    assert f"{where}: line 0 does not follow from the entries" in findings(store, tmp_path)


async def test_statements_of_a_former_view_are_accepted_by_the_audit_and_rebuilt_at_start(
    store: SqliteStore, tmp_path: Path
) -> None:
    await play(store, tmp_path)
    kept = store.lines(VIEW, stream="table/1")
    reached = store.projected_version(VIEW, "table/1")
    store.delete_view(VIEW)
    old = [msgspec.structs.replace(each, view=FORMER_VIEWS[0], data=b"{}") for each in kept]
    store.project(FORMER_VIEWS[0], "table/1", 0, reached, old)

    assert findings(store, tmp_path) == []

    async with House("memory:", store=store, state_dir=tmp_path / "state"):
        pass
    assert store.lines(FORMER_VIEWS[0]) == []
    assert [each for each in store.lines(VIEW, stream="table/1") if each in kept] == kept
    assert findings(store, tmp_path) == []


async def test_audit_finds_statement_rows_of_an_unknown_view(
    store: SqliteStore, tmp_path: Path
) -> None:
    await play(store, tmp_path)
    line = ProjectionLine("another", "ann", "table/1", 1, 0, 5, b'{"what":"won","amount":1000}')

    store.project("another", "table/1", 0, 1, [line])

    assert findings(store, tmp_path) == ["books of table/1: unknown view 'another'"]


async def test_audit_finds_missing_statement_rows(store: SqliteStore, tmp_path: Path) -> None:
    await play(store, tmp_path)
    reached = store.projected_version(VIEW, "table/1")
    store.delete_derived_data()

    store.project(VIEW, "table/1", 0, reached, [])

    assert any("is missing" in each for each in findings(store, tmp_path))


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (
            WinnersPaid(round=3, dice=(6, 5, 4), bets=[("big", "cat", 50, 50_000_000)]),
            "float went below zero",
        ),
        (
            BetPlaced(
                player="cat", spot="big", area="", amount=9999, number=99, manner="self",
                by=player("cat"),
            ),
            "stack/cat went below zero",
        ),
        (
            BetPlaced(
                player="nobody", spot="big", area="", amount=5, number=99, manner="self",
                by=player("cat"),
            ),
            "cannot follow",
        ),
    ],
)  # fmt: skip
async def test_audit_finds_an_event_that_no_command_could_have_caused(
    event: AnyStreamEvent, words: str, store: SqliteStore, tmp_path: Path
) -> None:
    await play(store, tmp_path)

    append(store, "table/1", event)

    version = store.head("table/1").version
    (found,) = findings(store, tmp_path)
    assert found.startswith(f"table/1 version {version}: cannot follow from the entries before")
    assert words in found


async def test_audit_finds_a_table_event_in_an_account_stream(
    store: SqliteStore, tmp_path: Path
) -> None:
    await play(store, tmp_path)

    append(store, "cage/cat", FloatFilled(amount=5, by=SUPERVISOR))

    assert len(findings(store, tmp_path)) == 1


async def test_audit_passes_while_rounds_are_played(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/house.sqlite"
    async with House(url) as house:
        people = People(house.command_handler)
        await people.open()
        stop = asyncio.Event()

        async def play() -> None:
            while not stop.is_set():
                await people.play(*ROUND)
                store_statements(house.command_handler.store, house.command_handler)

        playing = asyncio.create_task(play())
        reader = open_store(url)
        try:
            for _ in range(4):
                keys = read_public_keys(house.state_dir)
                report = await asyncio.to_thread(audit, reader, public_keys=keys)
                assert report.findings == ()
        finally:
            stop.set()
            await playing
            reader.close()


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        (
            "INSERT INTO lines VALUES ('house-4', 'player/ann', 'table/9', 1, 0, 1, x'7b7d')",
            "books of table/9: the stream has no entries",
        ),
        (
            "INSERT INTO views VALUES ('house-4', 'table/9', 1)",
            "books of table/9: the stream has no",
        ),
        ("DELETE FROM games", "the pinned game"),
    ],
)
async def test_audit_finds_forged_or_deleted_rows_of_derived_tables(
    sql: str, words: str, tmp_path: Path
) -> None:
    store = SqliteStore(tmp_path / "house.sqlite")
    async with CommandHandler(store) as handler:
        await People(handler).send(EstablishTable(by=SUPERVISOR, game="sg-rws-tai-sai-v6/a"))
    with tampering(store.path) as run:
        run(sql)

    report = audit(store, public_keys={})

    assert any(words in str(finding) for finding in report.findings)
    store.close()
