"""Divide the streams of a large log among processes that verify and replay them.

All processes read the same snapshot of the database. They only read, and they exit when the process
that started them does. If one of them fails for any reason, the caller does the work itself and
reports what is wrong.
"""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Pipe
from queue import SimpleQueue
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from threedice.errors import TamperedData
from threedice.log.stores import schema
from threedice.version import build_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from threedice.house.audit.auditor import ReplayResults
    from threedice.log.proof.checkpoint_verification import SignedHashes
    from threedice.log.proof.verification import StreamsCheck
    from threedice.log.stores.rows import LogRows

    TaskResult = tuple[StreamsCheck, ReplayResults]

MIN_ENTRIES: Final = 100_000
"""Entries in a log below which starting processes takes longer than they save."""

TASK_ENTRIES: Final = 10_000
"""Entries in a task, unless it is a single stream."""

STREAM_COST_ENTRIES: Final = 20
"""The cost of beginning a stream, in entries."""


class ProcessFailed(Exception):
    """The work cannot be done by other processes."""


@dataclass(frozen=True, slots=True)
class AuditTask:
    """Streams for a process to verify and replay, and what `check_streams` needs for that."""

    streams: list[str]
    signed: SignedHashes
    key: bytes


def useful_processes(rows: LogRows) -> int:
    """Return how many processes a log is worth: one per core, or none for a small log."""
    try:
        sizes = _read_sizes(rows)
    except ProcessFailed:
        return 0
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    if sum(sizes.values()) < MIN_ENTRIES or cores is None or cores < 2:
        return 0
    return min(cores, len(sizes))


@contextmanager
def start_processes(rows: LogRows, count: int) -> Iterator[AuditProcesses]:
    """Start processes that read the same snapshot as this one."""
    processes, threads = list[_AuditProcess](), ThreadPoolExecutor(count)
    try:
        for _ in range(count):
            processes.append(_AuditProcess())
        for process in processes:
            if process.receive() != build_id():
                raise ProcessFailed("the program was replaced while this process is running")
        with rows.shared() as open_snapshot:
            if open_snapshot is None:
                raise ProcessFailed("other processes cannot read this database")
            for process in processes:
                process.send(open_snapshot)
            for process in processes:
                process.receive()
        yield AuditProcesses(rows, processes, threads)
    finally:
        for process in processes:
            process.stop()  # ends the threads that wait for it
        threads.shutdown(cancel_futures=True)


class AuditProcesses:
    """Processes that take tasks, with a thread for each of them."""

    def __init__(
        self, rows: LogRows, processes: list[_AuditProcess], threads: ThreadPoolExecutor
    ) -> None:
        self._rows, self._threads, self._lock, self._done = rows, threads, Lock(), 0
        self._idle = SimpleQueue[_AuditProcess]()
        for process in processes:
            self._idle.put(process)

    def start(
        self, signed: SignedHashes, key: bytes, progress: Callable[[int, int], None] | None
    ) -> Iterator[TaskResult]:
        """Start to verify all streams, the largest first, and return the coming results."""
        sizes = dict.fromkeys(signed.streams(), 0) | _read_sizes(self._rows)
        total = sum(sizes.values())

        def advance(count: int) -> None:
            with self._lock:
                self._done += count
                if progress is not None:
                    progress(self._done, max(self._done, total))

        def run(streams: list[str]) -> TaskResult:
            process = self._idle.get()
            try:
                process.send(AuditTask(streams, signed.select(streams), key))
                while isinstance(reply := process.receive(), int):
                    advance(reply)
            finally:
                self._idle.put(process)
            result: TaskResult = reply
            return result

        return self._threads.map(run, _divide_streams(sizes))


class _AuditProcess:
    """A process of `threedice.house.audit.worker`, and the connection to it."""

    def __init__(self) -> None:
        command = [sys.executable, "-P", "-m", "threedice.house.audit.worker"]
        try:
            self._connection, other_end = Pipe()
            with other_end:  # a session of its own, since an interrupt is for this process only
                self._process = subprocess.Popen(
                    command, stdin=other_end.fileno(), start_new_session=True
                )
        except OSError as error:
            raise ProcessFailed(str(error)) from error

    def send(self, message: object) -> None:
        try:
            self._connection.send(message)
        except OSError as error:
            raise ProcessFailed(str(error)) from error

    def receive(self) -> Any:
        try:
            return self._connection.recv()
        except (EOFError, OSError) as error:
            raise ProcessFailed(str(error)) from error

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait()
        self._connection.close()


def _read_sizes(rows: LogRows) -> dict[str, int]:
    """Return the streams that have entries or a head, with their versions."""
    try:
        sizes = dict.fromkeys(rows.entry_streams(), 0)
        for chunk in rows.chunks(schema.streams):
            sizes |= {stream: version for stream, version, *_ in chunk}
    except TamperedData as error:
        raise ProcessFailed(str(error)) from error
    if not all(_is_valid(stream, version) for stream, version in sizes.items()):
        raise ProcessFailed("a head is malformed")
    return sizes


def _is_valid(stream: object, version: object) -> bool:
    try:
        return isinstance(stream, str) and bool(stream.encode()) and type(version) is int
    except UnicodeEncodeError:
        return False


def _divide_streams(sizes: Mapping[str, int]) -> Iterator[list[str]]:
    """Yield the streams of each task: large ones alone and first, small ones together.

    >>> list(_divide_streams({"cage/a": 5, "table/1": 20_000, "cage/b": 6, "table/2": 30_000}))
    [['table/2'], ['table/1'], ['cage/b', 'cage/a']]
    """
    task, entries = list[str](), 0
    for stream in sorted(sizes, key=lambda name: (-sizes[name], name)):
        task.append(stream)
        entries += sizes[stream] + STREAM_COST_ENTRIES
        if entries >= TASK_ENTRIES:
            yield task
            task, entries = [], 0
    if task:
        yield task
