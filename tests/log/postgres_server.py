"""PostgreSQL servers in temporary folders, and a proxy whose connections can be cut."""

from __future__ import annotations

import os
import select
import shutil
import signal
import socket
import subprocess
import tempfile
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING
from urllib.parse import quote

import psycopg

from tests.programs import postgres_binaries

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

ATTEMPTS = 100
"""How often a start is tried: after a kill, what is left of the old server must end first."""

ROOM_BYTES = 4 << 30


@contextmanager
def running(
    settings: Sequence[str] = (), *, parent: Path | None = None
) -> Iterator[PostgresServer]:
    """Run a server within the context, and delete it afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="threedice-pg-", dir=parent))
    try:
        server = PostgresServer(folder, settings)
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder)


def quick_folder() -> Path | None:
    """Return a folder in memory, if there is room: for tests that kill processes, not machines.

    After a kill PostgreSQL syncs every file of its cluster, which takes long on a busy disk.
    """
    memory = Path("/dev/shm")
    if not memory.is_dir() or os.statvfs(memory).f_flag & os.ST_NOEXEC:
        return None
    return memory if shutil.disk_usage(memory).free > ROOM_BYTES else None


class PostgresServer:
    """A cluster of databases, reached through a socket in its own folder; it needs no port."""

    def __init__(self, folder: Path, settings: Sequence[str] = ()) -> None:
        self.folder, self.settings = folder, tuple(settings)
        self._numbers = count(1)
        os.chmod(folder, 0o711)  # noqa: PTH101 -- the socket is reached by us, the data is not
        if (user := _user()) is not None:
            shutil.chown(folder, user, user)
        self._run(
            "initdb",
            "--no-sync",
            "--auth=trust",
            "--username=postgres",
            "--encoding=UTF8",
            "--locale=C",
            f"--pgdata={self.data}",
        )

    @property
    def data(self) -> Path:
        """The folder of the cluster's files."""
        return self.folder / "data"

    @property
    def pid(self) -> int:
        """The process id of the postmaster."""
        return int((self.data / "postmaster.pid").read_text().split(maxsplit=1)[0])

    def url(self, database: str = "postgres") -> str:
        """Return the URL of a database of this server."""
        return f"postgresql://postgres@/{database}?host={quote(str(self.folder), safe='')}"

    def fresh(self, template: str = "template0") -> str:
        """Make a database, empty or like another, and return its URL."""
        name = f"test_{next(self._numbers)}"
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
        return self.url(name)

    def start(self) -> None:
        """Start, or start again with the same data, and come back when it takes connections."""
        options = ["-k", str(self.folder), "-c", "listen_addresses="]
        for setting in self.settings:
            options += ["-c", setting]
        for _ in range(ATTEMPTS):
            try:
                self._run(
                    "pg_ctl",
                    "start",
                    "--wait",
                    "--silent",
                    f"--pgdata={self.data}",
                    f"--log={self.folder / 'log'}",
                    f"--options={' '.join(options)}",
                )
            except subprocess.CalledProcessError as error:
                failure = error
            else:
                return
        raise failure

    def kill(self) -> None:
        """Kill the postmaster as the kernel would, and come back when it is gone."""
        waiting = os.pidfd_open(self.pid)
        try:
            os.kill(self.pid, signal.SIGKILL)
            select.select([waiting], [], [])
        finally:
            os.close(waiting)

    def stop(self) -> None:
        """Stop at once, if it runs."""
        if (self.data / "postmaster.pid").exists():
            self._run(
                "pg_ctl",
                "stop",
                "--mode=immediate",
                "--silent",
                f"--pgdata={self.data}",
                check=False,
            )

    def _run(self, program: str, *arguments: str, check: bool = True) -> None:
        # a file, not a pipe: the postmaster inherits it and would keep a pipe open
        with (self.folder / "output").open("ab") as output:
            subprocess.run(
                [postgres_binaries() / program, *arguments],
                check=check,
                user=_user(),
                group=_user(),
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )


def _user() -> str | None:
    """PostgreSQL refuses to run as root; its package makes a user for it."""
    return "postgres" if os.getuid() == 0 else None


# --- a proxy whose connections can be cut --------------------------------------------------------

SOCKET = ".s.PGSQL.5432"


@dataclass
class CommitCut:
    """Whether a proxy cuts the next commit, before the server gets it or after it is done."""

    after: bool = False
    armed: bool = False
    meanwhile: Callable[[], object] = list
    """Called when the connection is cut, before either side notices."""
    clients: list[socket.socket] = field(default_factory=list)


@contextmanager
def cuttable_proxy(server: Path, way: Path) -> Iterator[CommitCut]:
    """Forward a socket of the same name in another folder to a server's socket."""
    cut = CommitCut()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(way / SOCKET))
        listening.listen()
        thread = Thread(target=_accept, args=(listening, str(server / SOCKET), cut))
        thread.start()
        try:
            yield cut
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()


def _accept(listening: socket.socket, server: str, cut: CommitCut) -> None:
    threads = []
    with suppress(OSError):
        while True:
            client, _ = listening.accept()
            cut.clients.append(client)
            threads.append(Thread(target=_pass_on, args=(client, server, cut)))
            threads[-1].start()
    for client in cut.clients:
        with suppress(OSError):
            client.shutdown(socket.SHUT_RDWR)
    for thread in threads:
        thread.join()


def _pass_on(client: socket.socket, path: str, cut: CommitCut) -> None:
    with client, socket.socket(socket.AF_UNIX) as server, suppress(OSError):
        server.connect(path)
        while True:
            for side in select.select([client, server], [], [])[0]:
                data = side.recv(1 << 20)
                if not data:
                    return
                # the client's command, or the server's word that it is done
                if cut.armed and b"COMMIT" in data and cut.after == (side is server):
                    cut.armed = False
                    cut.meanwhile()
                    return
                (server if side is client else client).sendall(data)
