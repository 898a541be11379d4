"""Commands with invalid values, ids or accounts are refused."""

from __future__ import annotations

from typing import Any

import pytest

from tests.house.house_driver import DEALER, SUPERVISOR, People
from threedice.account.commands import Deposit, OpenAccount
from threedice.errors import InvalidInput, Refusal
from threedice.house import CommandHandler
from threedice.house.commands import EstablishTable
from threedice.house.events import Timing
from threedice.log.stores.memory import MemoryStore
from threedice.table import commands
from threedice.table.commands import Actor

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    "command",
    [
        EstablishTable(
            by=SUPERVISOR,
            game="sg-rws-tai-sai-v6/a",
            dealt_by_house=Timing(betting_seconds=float("nan")),
        ),
        EstablishTable(
            by=SUPERVISOR,
            game="sg-rws-tai-sai-v6/a",
            dealt_by_house=Timing(betting_seconds=float("inf")),
        ),
        Deposit(by="c", player="ann", amount=10.5),  # type: ignore[arg-type]
        Deposit(by="c", player="ann", amount=True),
        Deposit(by="c", player="ann", amount=2**63),
        Deposit(by="c", player="a/b", amount=5),
        Deposit(by="c", player="\ud800", amount=5),
        OpenAccount(by="c", player="ann", currency=""),
        OpenAccount(by="c", player="house", currency="SGD"),
        commands.FillFloat(by=SUPERVISOR, amount=10**13),
        commands.FillFloat(
            by=SUPERVISOR,
            amount=0,
            counts={
                "ros\N{LATIN SMALL LETTER E WITH ACUTE}": 7,
                "rose\N{COMBINING ACUTE ACCENT}": 5,
            },
        ),
    ],
)
async def test_command_that_cannot_be_encoded_is_refused(command: Any) -> None:
    store = MemoryStore()
    async with CommandHandler(store) as handler:
        with pytest.raises(InvalidInput):
            await handler.handle(command, table="1", account="x", key="k")
    assert store.heads() == {}


@pytest.mark.parametrize("table", ["a/b", "a b", "\n", "x" * 101, "\ud800"])
async def test_table_id_that_is_not_one_short_word_is_refused(table: str) -> None:
    async with CommandHandler(MemoryStore()) as handler:
        with pytest.raises(InvalidInput):
            await People(handler, table).open()


@pytest.mark.parametrize("player", ["", "a\0b", "a\nb", "a b", "a/b"])
async def test_player_id_with_separators_or_control_characters_is_refused(player: str) -> None:
    async with CommandHandler(MemoryStore()) as handler:
        people = People(handler)
        await people.open()
        command = commands.BuyIn(by=Actor(id="d", role="dealer"), player=player, amount=100)

        with pytest.raises(InvalidInput, match="not a valid command"):
            await handler.handle(command, table="1", account="d", key="k")


async def test_command_under_the_account_of_the_house_is_refused() -> None:
    async with CommandHandler(MemoryStore()) as handler:
        with pytest.raises(InvalidInput, match="account of the house is reserved"):
            await handler.handle(
                commands.CallResult(by=DEALER, dice=(6, 6, 6)), table="1", account="house", key="k"
            )


async def test_table_cannot_be_reopened_in_another_currency_or_under_another_name() -> None:
    async with CommandHandler(MemoryStore()) as handler:
        people = People(handler)
        await people.open()
        await people.play("close the table")
        house_table = await handler.table("1")
        assert house_table.table.limits is not None
        command = commands.OpenTable(
            by=SUPERVISOR, table="1", currency="JPY", mode="record", chips=[5], float_amount=0,
            limits=house_table.table.limits,
        )  # fmt: skip
        with pytest.raises(Refusal) as refused:
            await people.send(command)
        assert refused.value.code == "table/currency"
        for other in ("2", ""):
            with pytest.raises(Refusal) as refused:
                await people.send(commands.OpenTable(**{**_fields(command), "table": other}))
            assert refused.value.code == "floor/other-table"


def _fields(command: commands.OpenTable) -> dict[str, Any]:
    return {name: getattr(command, name) for name in command.__struct_fields__}
