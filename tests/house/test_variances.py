"""Variances of counts in a table's state, and the people who acknowledge them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.house.house_driver import SUPERVISOR, People
from threedice.errors import Refusal
from threedice.house import CommandHandler
from threedice.house.commands import AcknowledgeVariance
from threedice.house.stream_state import FOLDS, encode_state
from threedice.house.variances import MAX_VARIANCES, CountPolicy, Variance, add_variance
from threedice.log.stores.memory import MemoryStore
from threedice.table import commands
from threedice.table.commands import Actor
from threedice.table.events import RackCounted

pytestmark = pytest.mark.anyio

GAME = "sg-rws-tai-sai-v6/a"
RACK = {"5": 100, "25": 100}
MANAGER = Actor(id="mary", role="pit-manager")
SHIFT_MANAGER = Actor(id="sean", role="shift-manager")


async def open_table(handler: CommandHandler) -> People:
    """Open a table in chips; its people send commands."""
    people = People(handler)
    await people.open_in_chips(GAME, RACK)
    return people


def count(**changes: int) -> commands.CountRack:
    """Count the rack, with some chips more or less than it held at the opening."""
    counted = RACK | {name.lstrip("_"): number for name, number in changes.items()}
    return commands.CountRack(by=SUPERVISOR, approved_by=MANAGER, counted=counted)


def acknowledge(slip: int, by: Actor = MANAGER) -> AcknowledgeVariance:
    return AcknowledgeVariance(by=by, slip=slip)


async def refusal_of(people: People, command: Any) -> str:
    with pytest.raises(Refusal) as refused:
        await people.send(command)
    return refused.value.code


async def test_count_without_a_variance_has_nothing_to_acknowledge() -> None:
    async with CommandHandler(MemoryStore()) as handler:
        people = await open_table(handler)
        await people.send(count())
        assert (await handler.table("1")).variances == {}
        assert await refusal_of(people, acknowledge(2)) == "floor/no-variance"


async def test_each_person_acknowledges_a_variance_once_and_a_restart_keeps_it() -> None:
    store = MemoryStore()
    async with CommandHandler(store) as handler:
        people = await open_table(handler)
        await people.send(count(_25=99))
        await people.send(acknowledge(2))
        assert await refusal_of(people, acknowledge(2)) == "floor/acknowledged"
    async with CommandHandler(store) as handler:
        people = People(handler)
        await people.send(acknowledge(2, SHIFT_MANAGER))
        (variance,) = (await handler.table("1")).variances.values()
        assert (variance.slip, variance.kind) == (2, "shift")
        assert (variance.chips, variance.value) == ({"25": -1}, -25)
        assert variance.acknowledged_by == [MANAGER.id, SHIFT_MANAGER.id]


async def test_variance_is_acknowledged_while_the_table_is_closed() -> None:
    async with CommandHandler(MemoryStore()) as handler:
        people = await open_table(handler)
        closer = commands.CloseTable(by=SUPERVISOR, approved_by=MANAGER, counted={"5": 100})
        await people.send(closer)
        await people.send(acknowledge(2))
        assert (await handler.table("1")).variances[2].acknowledged_by == [MANAGER.id]


async def test_two_servers_record_an_acknowledgement_once() -> None:
    store = MemoryStore()
    async with CommandHandler(store) as one, CommandHandler(store) as other:
        people = await open_table(one)
        await people.send(count(_25=101))
        assert (await other.table("1")).variances[2].chips == {"25": 1}
        await people.send(acknowledge(2))
        command = acknowledge(2)
        with pytest.raises(Refusal) as refused:
            await other.handle(command, table="1", account=MANAGER.id, key="at the other server")
        assert refused.value.code == "floor/acknowledged"


async def test_only_supervisors_and_managers_acknowledge() -> None:
    async with CommandHandler(MemoryStore()) as handler:
        people = await open_table(handler)
        await people.send(count(_5=99))
        dealer = Actor(id="dora", role="dealer")
        assert await refusal_of(people, acknowledge(2, dealer)) == "role/not-allowed"


async def test_snapshot_keeps_variances() -> None:
    async with CommandHandler(MemoryStore()) as handler:
        people = await open_table(handler)
        await people.send(count(_25=99))
        await people.send(acknowledge(2))
        house_table = await handler.table("1")
        assert FOLDS["table"].decode_state(encode_state(house_table)) == house_table


def test_oldest_variances_of_a_table_are_dropped() -> None:
    variances: dict[int, Variance] = {}
    for slip in range(1, MAX_VARIANCES + 3):
        event = RackCounted(
            kind="shift", slip=slip, counted={"5": 1}, expected={}, by=SUPERVISOR,
            approved_by=MANAGER,
        )  # fmt: skip
        add_variance(variances, event, at=slip)
    assert list(variances) == list(range(3, MAX_VARIANCES + 3))


@pytest.mark.parametrize(
    ("chips", "value", "over"),
    [
        ({"25": -1}, -25, False),
        ({"25": -1, "5": -1}, -30, True),
        ({"25": -1, "5": 5}, 0, True),
        ({"red": -1}, 0, True),
        ({}, 26, True),
        ({}, -25, False),
    ],
)
def test_tolerance_counts_each_chip_and_a_missing_coloured_chip_is_over_it(
    chips: dict[str, int], value: int, over: bool
) -> None:
    assert CountPolicy(tolerance=25).is_exceeded(chips, value) is over
