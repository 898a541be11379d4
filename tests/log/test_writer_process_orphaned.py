"""A writer process whose house is gone: it finishes the batch in progress and exits."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import uvloop

from tests.log.dictating import Watched, locked, pid_of, tell, told, writer_process_of
from tests.log.proposing import PATIENCE, propose
from threedice.errors import StoreUnavailable, StoreUnusable
from threedice.log.store import Acceptance, HeadConflict
from threedice.log.stores.sqlite import SqliteStore
from threedice.log.writer_process import BLOCKED_SIGNALS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

ROOT = Path(__file__).parents[2]
LOOPS = pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop])


def on(loop: Callable[[], asyncio.AbstractEventLoop], work: Awaitable[None]) -> None:
    async def within() -> None:
        await asyncio.wait_for(work, PATIENCE)

    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(within())


@LOOPS
def test_an_answer_that_nobody_waited_for_is_not_taken_for_the_next(
    loop: Callable[[], asyncio.AbstractEventLoop], sqlite: SqliteStore
) -> None:
    async def give_up() -> None:
        await told(writer_process_of(sqlite))
        given_up = asyncio.create_task(told(writer_process_of(sqlite), propose("table/1")))
        await asyncio.sleep(0)
        given_up.cancel()
        with pytest.raises(asyncio.CancelledError):
            await given_up
        assert sqlite.head("table/1").version == 1  # it was in hand, and is written
        (outcome,) = await told(writer_process_of(sqlite), propose("table/1"))
        assert outcome == HeadConflict("table/1", sqlite.head("table/1"))

    on(loop, give_up())


@LOOPS
def test_a_store_closed_by_the_loop_in_the_midst_of_a_batch_hangs_nobody(
    loop: Callable[[], asyncio.AbstractEventLoop], sqlite: SqliteStore
) -> None:
    async def close_in_midst() -> None:
        await told(writer_process_of(sqlite))
        batch = asyncio.create_task(told(writer_process_of(sqlite), propose("table/1")))
        await asyncio.sleep(0)
        sqlite.close()
        with suppress(StoreUnavailable):
            assert await batch == [Acceptance()]
        with pytest.raises(StoreUnavailable, match="has been closed"):
            await told(writer_process_of(sqlite), propose("table/2"))

    on(loop, close_in_midst())
    with closing(SqliteStore(sqlite.path, serving=True)) as again:
        assert again.streams() == ["table/1"]


HOUSE = """
import asyncio, os, signal, sys
from tests.log.proposing import propose
from threedice.log.entry import EMPTY_HEAD
from threedice.log.conflicts import head_after
from threedice.log.stores.urls import open_store
from threedice.log.writer import Writer

def say(*words):
    print(*words, flush=True)

async def die_in_midst(store):
    writer_process = store.writer_process
    await writer_process.write([])
    say(writer_process.pid)
    sys.stdin.readline()
    asyncio.create_task(writer_process.write([writer_process.encode_proposal(propose("table/1"))]))
    await asyncio.sleep(0)
    os.kill(os.getpid(), signal.SIGKILL)

async def leave(store):
    say(store.writer_process.pid)

async def serve(store):
    stopped, answered = asyncio.Event(), asyncio.Queue()
    for stop in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(stop, stopped.set)
    writer = Writer(store, deliver=lambda tokens, results: answered.put_nowait((tokens, results)))
    head = EMPTY_HEAD
    while not stopped.is_set():
        proposal = propose("table/1", head)
        head = head_after(proposal.appends[0])
        writer.submit(proposal, 0)
        say(head.version, *(await answered.get())[1])
    await asyncio.to_thread(writer.close)
    store.close()
    say("closed")

asyncio.run(globals()[sys.argv[2]](open_store(sys.argv[1], serving=True)))
"""


def house(url: str, way: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", HOUSE, url, way],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        start_new_session=True,
    )


def test_when_its_house_was_killed_a_scribe_writes_what_it_has_and_nobody_serves_beside_it(
    path: Path,
) -> None:
    with house(f"sqlite:///{path}", "die_in_midst") as process:
        assert process.stdin
        assert process.stdout
        with Watched(int(process.stdout.readline())) as writer_process:
            with locked(path):
                process.stdin.write("\n")
                process.stdin.flush()
                assert process.wait(PATIENCE) == -signal.SIGKILL
                assert not writer_process.has_ended()
                with pytest.raises(StoreUnusable, match="is served by process"):
                    SqliteStore(path, serving=True)
            writer_process.wait()
    with closing(SqliteStore(path, serving=True)) as next_one:
        assert next_one.head("table/1").version == 1


def test_a_scribe_whose_house_forgot_to_close_ends_by_itself(path: Path) -> None:
    with house(f"sqlite:///{path}", "leave") as process:
        # returns once the writer process has closed the pipe too
        said, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert said.strip().isdecimal()
    SqliteStore(path, serving=True).close()


def test_signals_to_all_processes_of_a_house_let_it_finish(path: Path) -> None:
    with house(f"sqlite:///{path}", "serve") as process:
        assert process.stdout
        heard = [process.stdout.readline() for _ in range(20)]
        for stop in BLOCKED_SIGNALS:
            os.killpg(process.pid, stop)
        heard += process.stdout.readlines()
    assert process.returncode == 0
    *answers, last = heard
    assert last == "closed\n"
    assert answers == [f"{number} Acceptance()\n" for number in range(1, len(heard))]
    with closing(SqliteStore(path)) as store:
        assert store.head("table/1").version == len(answers)


def test_a_scribe_takes_no_signal_to_stop_not_even_before_it_is_ready(sqlite: SqliteStore) -> None:
    writer_process = pid_of(sqlite)
    for stop in BLOCKED_SIGNALS:
        os.kill(writer_process, stop)
    assert tell(sqlite, propose("table/1")) == [Acceptance()]
    for stop in BLOCKED_SIGNALS:
        os.kill(writer_process, stop)
    assert tell(sqlite, propose("table/2")) == [Acceptance()]
    assert pid_of(sqlite) == writer_process
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == set()  # and we take all of ours
