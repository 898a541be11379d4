"""A way to PostgreSQL that can be cut at the worst moment, and what several processes do there."""

from __future__ import annotations

import select
import socket
import sys
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Thread
from typing import TYPE_CHECKING

from tests.log.stating import propose
from threedice.log.records import Acceptance, DuplicateKey, HeadConflict
from threedice.log.stores.postgres import PostgresStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

SOCKET = ".s.PGSQL.5432"


@dataclass
class Cut:
    """When the way is cut: at the next commit, before it is passed on or once it is done."""

    after: bool = False
    armed: bool = False
    meanwhile: Callable[[], object] = list
    """What happens while the way is cut, before anybody can notice."""
    clients: list[socket.socket] = field(default_factory=list)


@contextmanager
def cut_way(server: Path, way: Path) -> Iterator[Cut]:
    """Open a way to a server's socket, through a socket of the same name in another folder."""
    cut = Cut()
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


def _accept(listening: socket.socket, server: str, cut: Cut) -> None:
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


def _pass_on(client: socket.socket, path: str, cut: Cut) -> None:
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


def race(url: str, name: str, rounds: int) -> None:
    """Append to one stream that others append to, and to one's own, each time with an old key."""
    store = PostgresStore(url, serving=True)
    for number in range(rounds):
        while True:
            heads = {stream: store.head(stream) for stream in ("shared", f"own/{name}")}
            own = propose(
                {
                    stream: (head, [b"%s %d" % (name.encode(), number)])
                    for stream, head in heads.items()
                },
                account=name,
                key=f"{number}",
            )
            same = propose({}, account="all", key=f"{number}", command_hash=name.encode() * 32)
            outcome, shared = store.write([own, same])
            assert isinstance(shared, Acceptance | DuplicateKey)
            if isinstance(shared, Acceptance):
                print(number)  # noqa: T201 -- told to whoever started the race
            if not isinstance(outcome, HeadConflict):
                assert isinstance(outcome, Acceptance)
                break
    store.close()


if __name__ == "__main__":
    race(sys.argv[1], sys.argv[2], int(sys.argv[3]))
