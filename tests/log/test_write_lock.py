"""Threads and a coroutine take turns, and neither is left waiting."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from tests.log.proposing import PATIENCE
from threedice.log.stores.files import WriteLock

pytestmark = pytest.mark.anyio


async def test_a_thread_waits_while_a_coroutine_has_the_turn() -> None:
    lock, said, about_to = WriteLock(), list[str](), Event()

    def take() -> None:
        about_to.set()
        with lock:
            said.append("thread")

    async with lock.acquire_async():
        waiting = asyncio.create_task(asyncio.to_thread(take))
        await asyncio.to_thread(about_to.wait, PATIENCE)
        said.append("coroutine")
    await asyncio.wait_for(waiting, PATIENCE)
    assert said == ["coroutine", "thread"]


async def test_a_coroutine_waits_while_a_thread_has_the_turn_and_the_loop_goes_on() -> None:
    lock, said = WriteLock(), list[str]()
    has, leave = Event(), Event()

    def take() -> None:
        with lock:
            has.set()
            assert leave.wait(PATIENCE)
            said.append("thread")

    async def acquire() -> None:
        async with lock.acquire_async():
            said.append("coroutine")

    thread = asyncio.create_task(asyncio.to_thread(take))
    await asyncio.to_thread(has.wait, PATIENCE)
    coroutine = asyncio.create_task(acquire())
    await asyncio.sleep(0)
    said.append("loop")
    leave.set()
    await asyncio.wait_for(asyncio.gather(thread, coroutine), PATIENCE)
    assert said == ["loop", "thread", "coroutine"]


async def test_a_coroutine_lets_those_who_wait_go_first() -> None:
    lock, said = WriteLock(), list[str]()

    async def acquire() -> None:
        async with lock.acquire_async():
            said.append("coroutine")

    lock._waiting.append(None)  # a thread that has asked, and has not come to take it yet
    coroutine = asyncio.create_task(acquire())
    for _ in range(3):
        await asyncio.sleep(0)
    said.append("thread")
    lock._waiting.pop()
    await asyncio.wait_for(coroutine, PATIENCE)
    assert said == ["thread", "coroutine"]


async def test_two_coroutines_of_one_thread_do_not_have_it_together() -> None:
    lock, said, inside = WriteLock(), list[str](), asyncio.Event()

    async def first() -> None:
        async with lock.acquire_async():
            inside.set()
            said.append("first comes")
            await asyncio.sleep(0)
            said.append("first goes")

    async def second() -> None:
        await inside.wait()
        async with lock.acquire_async():
            said.append("second")

    await asyncio.wait_for(asyncio.gather(second(), first()), PATIENCE)
    assert said == ["first comes", "first goes", "second"]


async def test_a_coroutine_that_is_cancelled_leaves_the_turn_to_others() -> None:
    lock, inside = WriteLock(), asyncio.Event()

    async def hold() -> None:
        async with lock.acquire_async():
            inside.set()
            await asyncio.Event().wait()

    holding = asyncio.create_task(hold())
    await inside.wait()
    waiting = asyncio.create_task(hold())
    await asyncio.sleep(0)
    for task in (waiting, holding):
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    async with asyncio.timeout(PATIENCE), lock.acquire_async():
        pass


async def test_the_thread_of_the_loop_is_let_in_beside_its_own_coroutine() -> None:
    """It could wait for ever otherwise: the coroutine goes on only when the thread does."""
    lock = WriteLock()
    async with lock.acquire_async():
        with lock:
            pass
        with ThreadPoolExecutor(1) as pool:
            assert not pool.submit(lock._lock.acquire, blocking=False).result()


def test_one_who_is_interrupted_while_he_waits_is_waited_for_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Interrupted:
        def acquire(self) -> bool:
            raise KeyboardInterrupt

    lock = WriteLock()
    with monkeypatch.context() as patched:
        patched.setattr(lock, "_lock", Interrupted())
        with pytest.raises(KeyboardInterrupt), lock:
            pass

    async def acquire() -> None:
        async with asyncio.timeout(PATIENCE), lock.acquire_async():
            pass

    asyncio.run(acquire())
