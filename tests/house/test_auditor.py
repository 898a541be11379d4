"""The audit finds what was changed, in the log or beside it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import msgspec
import pytest

from tests.house.setting import SUPERVISOR, People, player
from tests.house.test_statements import ROUND, keep
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
    """Play some rounds with everything that is kept beside the log."""
    async with CommandHandler(store, state_dir=tmp_path / "state") as handler:
        people = People(handler)
        await people.open()
        await people.ask(OpenAccount(by="cashier", player="cat", currency="SGD"))
        await people.ask(Deposit(by="cashier", player="cat", amount=500))
        await people.ask(
            commands.BuyIn(by=player("cat"), player="cat", amount=300, source="account")
        )
        await people.play(*ROUND, *ROUND, "open betting", "cat bets 50 on big")
        keep(store, handler)
    CheckpointSigner(store, open_keys(tmp_path / "state"), tmp_path / "state").create_checkpoint(1)


def findings(store: SqliteStore, tmp_path: Path) -> list[str]:
    return [str(each) for each in report(store, tmp_path).findings]


def report(store: SqliteStore, tmp_path: Path) -> VerificationReport:
    return audit(store, public_keys=open_keys(tmp_path / "state").public)


def append(store: SqliteStore, stream: str, event: AnyStreamEvent) -> None:
    """Append, with a good chain, what no command could have caused."""
    head, digest = store.head(stream), bytes(32)
    key = f"forged {head.version}"
    entries, _ = extend_stream(head, stream, 2**50, hash_cause("x", key, digest), [encode(event)])
    store.write([Proposal("x", key, digest, (Append(stream, head, entries),))])


async def test_a_house_that_nobody_changed_is_sound(store: SqliteStore, tmp_path: Path) -> None:
    await play(store, tmp_path)

    found = report(store, tmp_path)

    assert found.findings == ()
    assert (found.streams, found.games, found.checkpoints) == (2, 1, 1)
    assert found.entries == sum(head.version for head in store.heads().values())


async def test_a_snapshot_that_the_entries_do_not_lead_to_is_found(
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


async def test_a_snapshot_of_another_version_is_left_alone(
    store: SqliteStore, tmp_path: Path
) -> None:
    await play(store, tmp_path)
    snapshot = store.snapshot("cage/cat", "state")
    assert snapshot is not None

    store.save_snapshot(msgspec.structs.replace(snapshot, form="account-0", data=b"old"))

    assert findings(store, tmp_path) == []


async def test_a_line_that_was_added_is_found_where_it_stands(
    store: SqliteStore, tmp_path: Path
) -> None:
    await play(store, tmp_path)
    reached = store.projected_version(VIEW, "table/1")
    line = ProjectionLine(
        VIEW, "ann", "table/1", reached + 1, 0, 5, b'{"what":"won","amount":1000}'
    )

    store.project(VIEW, "table/1", reached, reached + 1, [line])

    where = f"books of table/1 version {reached + 1}"
    assert f"{where}: line 0 does not follow from the entries" in findings(store, tmp_path)


async def test_books_in_a_form_of_before_are_no_finding_and_are_made_again_by_a_house(
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


async def test_books_of_a_view_that_never_was_are_found(store: SqliteStore, tmp_path: Path) -> None:
    await play(store, tmp_path)
    line = ProjectionLine("another", "ann", "table/1", 1, 0, 5, b'{"what":"won","amount":1000}')

    store.project("another", "table/1", 0, 1, [line])

    assert findings(store, tmp_path) == ["books of table/1: unknown view 'another'"]


async def test_books_that_lack_lines_are_found(store: SqliteStore, tmp_path: Path) -> None:
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
async def test_money_that_no_command_could_have_moved_is_found(
    event: AnyStreamEvent, words: str, store: SqliteStore, tmp_path: Path
) -> None:
    await play(store, tmp_path)

    append(store, "table/1", event)

    version = store.head("table/1").version
    (found,) = findings(store, tmp_path)
    assert found.startswith(f"table/1 version {version}: cannot follow from the entries before")
    assert words in found


async def test_an_event_in_the_wrong_place_is_found(store: SqliteStore, tmp_path: Path) -> None:
    await play(store, tmp_path)

    append(store, "cage/cat", FloatFilled(amount=5, by=SUPERVISOR))

    assert len(findings(store, tmp_path)) == 1


async def test_a_house_that_is_playing_is_audited_as_it_is_at_one_moment(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/house.sqlite"
    async with House(url) as house:
        people = People(house.command_handler)
        await people.open()
        stop = asyncio.Event()

        async def play() -> None:
            while not stop.is_set():
                await people.play(*ROUND)
                keep(house.command_handler.store, house.command_handler)

        playing = asyncio.create_task(play())
        beside = open_store(url)
        try:
            for _ in range(8):
                keys = read_public_keys(house.state_dir)
                report = await asyncio.to_thread(audit, beside, public_keys=keys)
                assert report.findings == ()
        finally:
            stop.set()
            await playing
            beside.close()


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        (
            "INSERT INTO lines VALUES ('house-2', 'player/ann', 'table/9', 1, 0, 1, x'7b7d')",
            "books of table/9: the stream has no entries",
        ),
        (
            "INSERT INTO views VALUES ('house-2', 'table/9', 1)",
            "books of table/9: the stream has no",
        ),
        ("DELETE FROM games", "the pinned game"),
    ],
)
async def test_what_was_forged_or_removed_beside_the_log_is_found(
    sql: str, words: str, tmp_path: Path
) -> None:
    store = SqliteStore(tmp_path / "house.sqlite")
    async with CommandHandler(store) as handler:
        await People(handler).ask(EstablishTable(by=SUPERVISOR, game="sg-rws-tai-sai-v6/a"))
    store._transact(lambda run: run(sql, ()))

    report = audit(store, public_keys={})

    assert any(words in str(finding) for finding in report.findings)
    store.close()
