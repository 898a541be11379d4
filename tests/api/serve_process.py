"""`threedice serve` as a process of its own, to be started, asked, stopped and killed."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path
from queue import Queue
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent.parent
HOUSE = """
name = "The test house"
currency = "SGD"
time_zone = "Asia/Singapore"
[policies]
totp_for_staff = false
commands_per_second = 10000
[tables.pit-1]
game = "sg-rws-tai-sai-v6/a"
mode = "record"
chips = [5, 25, 100]
float = 100_000_000
limits = { minimum = 5, maximum = 1_000_000, differential = 1_000_000 }
"""


SLOWEST_START = 120
"""Seconds; on a busy machine the interpreter alone takes many."""


class Process:
    """A server in a process of its own."""

    def __init__(self, words: list[str], data: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "threedice", "serve", *words],
            cwd=ROOT,
            env=os.environ | {"XDG_DATA_HOME": str(data), "XDG_CONFIG_HOME": str(data / "none")},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.said: list[str] = []
        self._lines: Queue[str | None] = Queue()
        self._errors: list[str] = []
        self._threads = [
            threading.Thread(target=self._read_out), threading.Thread(target=self._read_errors)
        ]  # fmt: skip
        for thread in self._threads:
            thread.start()

    def _read_out(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            self._lines.put(line.rstrip("\n"))
        self._lines.put(None)

    def _read_errors(self) -> None:
        assert self._process.stderr
        self._errors.extend(self._process.stderr)

    def until_listening(self) -> int:
        """Return the port, once the server listens."""
        while (line := self._lines.get(timeout=SLOWEST_START)) is not None:
            self.said.append(line)
            if " listens at " in line:
                return int(line.rpartition(":")[2].rstrip("/"))
        raise AssertionError(f"it ended with {self.end()} and said {self.said}: {self.errors}")

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        self._process.send_signal(how)

    def limit_descriptors(self, most: int) -> None:
        """Limit the file descriptors that the process may have; open ones stay open."""
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.prlimit(self._process.pid, resource.RLIMIT_NOFILE, (most, hard))

    def end(self) -> int:
        """Wait for the end and return the exit code."""
        code = self._process.wait(60)
        for thread in self._threads:
            thread.join()
        while not self._lines.empty():
            if line := self._lines.get():
                self.said.append(line)
        for stream in (self._process.stdout, self._process.stderr):
            if stream:
                stream.close()
        return code

    @property
    def errors(self) -> str:
        return "".join(self._errors)


@contextmanager
def started(data: Path, *words: str) -> Iterator[Process]:
    """Start a server; whatever becomes of the test, it is ended."""
    process = Process(list(words), data)
    try:
        yield process
    finally:
        if process._process.poll() is None:
            process.stop(signal.SIGKILL)
        process.end()
