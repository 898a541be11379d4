"""A table whose state and postings disagree stops without writing; the other tables go on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.house.house_driver import People
from threedice.errors import BalanceMismatch, InvariantBroken
from threedice.house.house import House
from threedice.house.stream_state import StreamBalances, fold_of
from threedice.log.stores.memory import MemoryStore
from threedice.table import commands, events

if TYPE_CHECKING:
    from pathlib import Path

    from threedice.house import CommandHandler

pytestmark = pytest.mark.anyio


async def misstate(handler: CommandHandler, account: str, amount: int) -> None:
    """Change a balance of table 1 in memory, as a defect in its postings would."""
    (stream,) = await handler.streams.get(["table/1"])
    stream.balances.balances[account] += amount


@pytest.mark.parametrize(
    ("account", "line"),
    [
        ("stack/ann", "ann bets 100 on big"),
        ("float", "bob buys 500"),
        ("cash", "bob buys 500"),
        ("layout", "ann withdraws 50 from big"),
    ],
)
async def test_table_stops_before_acknowledging_a_command_after_a_balance_mismatch(
    account: str, line: str, tmp_path: Path
) -> None:
    store = MemoryStore()
    async with House("memory:", store=store, state_dir=tmp_path) as house:
        handler = house.command_handler
        people, others = People(handler), People(handler, "2")
        await people.open()
        await others.open(stacks={"dan": 1000})
        await people.play("open betting", "ann bets 50 on big")
        written = store.head("table/1")
        await misstate(handler, account, 5)

        with pytest.raises(BalanceMismatch, match=f"table/1: {account} holds"):
            await people.play(line)
        with pytest.raises(InvariantBroken, match="table/1"):
            await people.play("bob bets 5 on small")

        assert store.head("table/1") == written
        assert list(house.damaged) == ["table/1"]
        assert account in house.damaged["table/1"]
        await others.play("open betting", "dan bets 50 on big", "dice 6 5 4")

    async with House("memory:", store=store, state_dir=tmp_path) as house:
        assert house.damaged == {}
        assert (await house.command_handler.table("1")).table.seats["ann"].stack == 950


async def test_wrong_layout_balance_is_found_at_settlement(tmp_path: Path) -> None:
    async with House("memory:", store=MemoryStore(), state_dir=tmp_path) as house:
        people = People(house.command_handler)
        await people.open()
        await people.play("open betting", "ann bets 50 on big")
        await misstate(house.command_handler, "layout", 5)
        await people.play("bob bets 50 on small")

        with pytest.raises(BalanceMismatch, match="layout holds"):
            await people.play("dice 6 5 4")


def test_event_missing_from_the_state_is_a_balance_mismatch() -> None:
    fold = fold_of("table/1")
    state = fold.state_type()
    state.table.open, state.table.float_amount = True, 100
    balances = StreamBalances("table/1", fold, state)
    filled = events.FloatFilled(amount=5, by=commands.Actor(id="s", role="supervisor"))

    with pytest.raises(BalanceMismatch, match=r"float holds 100 by the state, .* sum to 105"):
        balances.post(filled, state)  # the event was not applied to the state


def test_comparing_all_balances_includes_debts() -> None:
    fold = fold_of("table/1")
    state = fold.state_type()
    balances = StreamBalances("table/1", fold, state)
    balances.compare_all(state)
    state.table.owing["ann"] = 7

    with pytest.raises(BalanceMismatch, match="owing/ann holds -7"):
        balances.compare_all(state)
