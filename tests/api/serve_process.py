"""`threedice serve` in a child process, to be started, stopped and killed."""

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
queries_per_second = 10000
[tables.pit-1]
game = "sg-rws-tai-sai-v6/a"
mode = "record"
chips = [5, 25, 100]
float = 100_000_000
limits = { minimum = 5, maximum = 1_000_000, differential = 1_000_000 }
"""


SLOWEST_START = 120
"""Seconds. On a busy machine the start of the interpreter alone takes many."""


class ServeProcess:
    """A server in a child process."""

    def __init__(self, words: list[str], data: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "threedice", "serve", *words],
            cwd=ROOT,
            env=os.environ | {"XDG_DATA_HOME": str(data), "XDG_CONFIG_HOME": str(data / "none")},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.output: list[str] = []
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

    def wait_until_listening(self) -> int:
        """Wait until the server listens, and return its port."""
        while (line := self._lines.get(timeout=SLOWEST_START)) is not None:
            self.output.append(line)
            if " listens at " in line:
                return int(line.rpartition(":")[2].rstrip("/"))
        raise AssertionError(f"exit code {self.wait()}: {self.output} {self.errors}")

    def send_signal(self, number: signal.Signals = signal.SIGTERM) -> None:
        self._process.send_signal(number)

    def limit_descriptors(self, maximum: int) -> None:
        """Limit the file descriptors of the process; open ones stay open."""
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.prlimit(self._process.pid, resource.RLIMIT_NOFILE, (maximum, hard))

    def wait(self) -> int:
        """Wait for the process to end, and return its exit code."""
        code = self._process.wait(60)
        for thread in self._threads:
            thread.join()
        while not self._lines.empty():
            if line := self._lines.get():
                self.output.append(line)
        for stream in (self._process.stdout, self._process.stderr):
            if stream:
                stream.close()
        return code

    @property
    def errors(self) -> str:
        return "".join(self._errors)


@contextmanager
def start_server(data: Path, *words: str) -> Iterator[ServeProcess]:
    """Start a server, and kill it if it still runs when the context ends."""
    process = ServeProcess(list(words), data)
    try:
        yield process
    finally:
        if process._process.poll() is None:
            process.send_signal(signal.SIGKILL)
        process.wait()
