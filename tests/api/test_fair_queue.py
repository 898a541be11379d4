"""The fair queue: who is served next, and who is rejected."""

from __future__ import annotations

import asyncio

import pytest

from tests.waiting import TIMEOUT_SECONDS
from threedice.api.http.fair_queue import FairQueue
from threedice.errors import QueueFull
from threedice.runtime import SYSTEM_RUNTIME

pytestmark = pytest.mark.anyio


async def serve(
    *calls: str, max_waiting: int = 100, cancelled: int | None = None
) -> tuple[list[str], list[str]]:
    """Queue calls while the only slot is taken; return who is served in order, and who is rejected.

    A call is named by its clients. That of a preferred client begins with an exclamation mark.
    """
    queue, served, rejected = FairQueue(SYSTEM_RUNTIME, 1, max_waiting), list[str](), list[str]()

    async def call(name: str) -> None:
        try:
            async with queue.turn(*name.split("+"), preferred=name.startswith("!")):
                served.append(name)
                await asyncio.sleep(0)
        except QueueFull:
            rejected.append(name)

    async with queue.turn("holder"):
        tasks = [asyncio.create_task(call(name)) for name in calls]
        await asyncio.sleep(0)
        if cancelled is not None:
            tasks[cancelled].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    async with asyncio.timeout(TIMEOUT_SECONDS), queue.turn("last"):
        assert queue.waiting == 0
    return served, rejected


async def test_clients_take_turns_however_many_calls_one_has_waiting() -> None:
    served, _ = await serve("a", "a", "a", "b", "b", "c")
    assert served == ["a", "b", "c", "a", "b", "a"]


async def test_a_call_of_two_clients_waits_for_the_turn_of_both() -> None:
    served, _ = await serve("here+ann", "there+ann", "far+ann", "here+bob", "away+cat")
    assert served == ["here+ann", "away+cat", "there+ann", "here+bob", "far+ann"]


async def test_preferred_clients_have_every_other_turn() -> None:
    served, _ = await serve("a", "b", "a", "!x", "!x", "!y", "!x", "!x")
    assert served == ["!x", "a", "!y", "b", "!x", "a", "!x", "!x"]


async def test_a_full_queue_rejects_the_last_call_of_the_client_with_the_most() -> None:
    served, rejected = await serve("a", "a", "a", "a", "b", "!x", "c", "!x", max_waiting=3)
    assert rejected == ["a", "a", "a"]
    assert served == ["!x", "a", "!x", "b", "c"]


async def test_a_rejected_call_does_not_move_its_client_back() -> None:
    served, rejected = await serve("a", "b", *["a"] * 20, "a+ann", max_waiting=3)
    assert served == ["a", "b", "a"]
    assert rejected == ["a"] * 19 + ["a+ann"]


@pytest.mark.parametrize("cancelled", [0, 1, 2])
async def test_a_cancelled_call_holds_nobody_up(cancelled: int) -> None:
    names = ["a", "b", "c"]
    served, _ = await serve(*names, cancelled=cancelled)
    del names[cancelled]
    assert served == names


async def test_a_call_cancelled_when_its_turn_comes_passes_it_on() -> None:
    queue, served = FairQueue(SYSTEM_RUNTIME, 1, 10), list[str]()

    async def call(name: str) -> None:
        async with queue.turn(name):
            served.append(name)

    async with queue.turn("holder"):
        tasks = [asyncio.create_task(call(name)) for name in ("a", "b")]
        await asyncio.sleep(0)
    tasks[0].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert served == ["b"]
