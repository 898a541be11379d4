"""Statements are complete when a command is acknowledged, before their rows are stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.house.house_driver import SUPERVISOR, People, server_state
from tests.properties.random_table import GAMES_AND_READINGS, run_random_table
from threedice import load
from threedice.account.commands import Deposit, OpenAccount
from threedice.house import CommandHandler
from threedice.house.codec import encode
from threedice.house.house import House
from threedice.house.reports.projection import (
    EVENTS_WITHOUT_ROWS,
    VIEW,
    StatementProjector,
    player_subject,
)
from threedice.house.reports.statements import StatementReader, StatementTail
from threedice.house.stream_state import account_stream, postings_of
from threedice.log.entry import EMPTY_HEAD, extend_stream
from threedice.log.records import ProjectionLine
from threedice.log.stores.memory import MemoryStore
from threedice.table import commands
from threedice.table.events import BetPlaced

if TYPE_CHECKING:
    from pathlib import Path

    from tests.log.postgres_server import PostgresServer

pytestmark = pytest.mark.anyio

STREAM = "table/1"


async def statement(handler: CommandHandler, player: str) -> list[tuple[str, int]]:
    """Return the kinds and amounts of a player's statement as the house shows it."""
    reader = await handler.streams.statements(account_stream(player))
    return [(each.row.what, each.row.amount) for each in reader.rows(player_subject(player))]


async def test_statement_has_every_acknowledged_command_before_rows_are_stored() -> None:
    store = MemoryStore()
    async with CommandHandler(store) as handler:
        people = People(handler)
        await people.open()
        await people.play("open betting", "ann bets 100 on big", "bob bets 50 on small")
        await people.play("close betting", "tumbles 3 times", "uncover the dice", "call 6 5 4")
        await people.play("enters 6 5 4", "light the areas", "collect the losers")
        assert await statement(handler, "bob") == [("bought in", 1000), ("lost", -50)]
        await people.play("pay the winners")
        assert await statement(handler, "ann") == [("bought in", 1000), ("won", 100)]
        assert store.lines(VIEW) == []


async def test_transfer_between_account_and_table_is_on_the_statement_at_once() -> None:
    async with CommandHandler(MemoryStore()) as handler:
        people = People(handler)
        await people.open()
        await people.send(OpenAccount(by="cashier", player="cat", currency="SGD"))
        await people.send(Deposit(by="cashier", player="cat", amount=500))
        await people.send(
            commands.BuyIn(by=SUPERVISOR, player="cat", amount=300, source="account", age_years=30)
        )

        assert await statement(handler, "cat") == [
            ("deposited", 500),
            ("sent to table", -300),
            ("bought in", 300),
        ]


async def test_statement_after_a_crash_has_rows_that_were_not_stored() -> None:
    store = MemoryStore()
    async with CommandHandler(store) as handler:
        people = People(handler)
        await people.open()
        await people.play("open betting", "ann bets 100 on big", "dice 6 5 4")
        before = await statement(handler, "ann")
    assert store.lines(VIEW) == []

    async with CommandHandler(store) as handler:
        await handler.table("1")
        assert await statement(handler, "ann") == before == [("bought in", 1000), ("won", 100)]


async def test_second_server_shows_statements_up_to_the_last_notification(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    url = postgres.fresh()
    async with (
        House(url, state_dir=server_state(tmp_path, "here")) as here,
        House(url, state_dir=server_state(tmp_path, "there")) as there,
    ):
        await People(here.command_handler).open()
        await there.command_handler.table("1")
        await People(here.command_handler).play("open betting", "ann bets 100 on big")
        head = here.command_handler.store.head(STREAM)
        there.command_handler.streams.mark_changed(STREAM, head.version)

        assert await statement(there.command_handler, "ann") == [("bought in", 1000)]
        await People(here.command_handler).play("dice 6 5 4")
        head = here.command_handler.store.head(STREAM)
        there.command_handler.streams.mark_changed(STREAM, head.version)
        assert await statement(there.command_handler, "ann") == [("bought in", 1000), ("won", 100)]


def test_stored_rows_plus_tail_equal_the_projection_of_the_whole_stream() -> None:
    for number, (name, readings) in enumerate(GAMES_AND_READINGS):
        table = run_random_table(load(name, readings), "record", number, 120)
        entries, _ = extend_stream(EMPTY_HEAD, STREAM, 5, bytes(32), map(encode, table.events))
        game_of = {table.game.hash: table.game}.__getitem__
        whole = StatementProjector(STREAM, game_of)
        store, tail = MemoryStore(), StatementTail(STREAM)
        stored, lines = 0, list[ProjectionLine]()
        for entry, event in zip(entries, table.events, strict=True):
            lines += whole.project(entry, event)
            tail.add(entry, event)
            if whole.is_resumable and table.random.random() < 0.1:
                new = [line for line in lines if line.version > stored]
                assert store.project(VIEW, STREAM, stored, entry.version, new)
                stored = entry.version
                tail.drop_stored(stored)
            elif table.random.random() < 0.05:
                reader = StatementReader(store, tail.lines(game_of))
                for subject in {line.subject for line in lines}:
                    expected = StatementReader(MemoryStore(), lines).rows(subject)
                    assert reader.rows(subject) == expected
                    assert reader.rows(subject, limit=2) == expected[-2:]


def test_events_without_rows_move_only_bets() -> None:
    seen = set()
    for number, (name, readings) in enumerate(GAMES_AND_READINGS):
        for event in run_random_table(load(name, readings), "record", number, 300).events:
            if type(event) in EVENTS_WITHOUT_ROWS:
                seen.add(type(event))
                moves = {(posting.source, posting.destination) for posting in postings_of(event)}
                bet = (
                    {(f"stack/{event.player}", "layout")} if isinstance(event, BetPlaced) else set()
                )
                assert moves == bet
    assert seen == EVENTS_WITHOUT_ROWS
