"""The scribe: a process of its own that carries out `write` for a store in service.

Deciding and writing are both work, and in one Python process only one of the two is done at a time.
A store that serves hands each batch to its scribe, which runs the same store class on the same
database and says what became of it; the store's own process decides meanwhile. A scribe ends when
its store closes or dies, after the batch in hand.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from socket import socket, socketpair
from struct import Struct
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from threedice import errors
from threedice.errors import InvariantBroken, StoreAway, StoreFailed, ThreediceError
from threedice.log.entry import Head
from threedice.log.judging import ACCEPTED
from threedice.log.store import Answer, Conflict, Known, Outcome, Proposal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from threedice.log.turn import Turn

LENGTH: Final = Struct(">I")
ROOM: Final = 1 << 20
"""How many bytes are taken from the line at once."""

ARRAY: Final = Struct(">BI")
"""How an array of any length begins in MessagePack."""

END_SECONDS: Final = 10.0
"""How long a scribe may take to end once nobody talks to it any more."""


class Place(msgspec.Struct, frozen=True, tag=True):
    """Which database is written; it goes by the pipe, since others can read a command line."""

    kind: Literal["sqlite", "postgres"]
    name: str
    seconds: float = 0.0


class Written(msgspec.Struct, frozen=True, tag=True):
    """A batch is written: all of it but what lost, and what was known already, by its place."""

    conflicts: dict[int, tuple[str, Head]] = {}
    known: dict[int, Answer] = {}


class Failed(msgspec.Struct, frozen=True, tag=True):
    """A batch is not written, or nobody knows: the kind of error, and its words."""

    kind: str
    words: str


encode = msgspec.msgpack.Encoder().encode
decode_reply = msgspec.msgpack.Decoder(Written | Failed).decode


class Scribe:
    """A store's hold on the process that writes for it; started anew when it has ended.

    It writes in `turn` with whoever else writes there, and whoever has `failed` is told when it
    could not write.
    """

    def __init__(
        self,
        place: Place,
        *,
        failed: Callable[[str], None],
        turn: Turn,
        keep_open: tuple[int, ...] = (),
    ) -> None:
        self._place, self._keep_open = place, keep_open
        self._failed, self._turn = failed, turn
        self._closed = self._ready = False
        self._process: subprocess.Popen[bytes] | None = None
        self._start()

    def words(self, proposal: Proposal) -> bytes:
        """Return a proposal as it is told to the process."""
        return encode(proposal)

    async def write(self, batch: Sequence[bytes]) -> list[Outcome]:
        """Have a batch written, and wait for what becomes of it."""
        async with self._turn.soon():
            if self._closed:
                raise StoreAway("the store has been closed")
            if self._process is None:
                self._start()
            if not self._ready:
                await self._reply()
                self._ready = True
            reply = await self._reply(b"".join((ARRAY.pack(0xDD, len(batch)), *batch)))
        return _outcomes(reply, len(batch))

    async def _reply(self, message: bytes = b"") -> Written:
        """Return the answer to a message, or to the one sent before."""
        try:
            said = await _exchange(self._line, message)
        except OSError:
            said = b""
        if not said:
            self._end()
            raise StoreAway("the process that writes has ended; another takes its place")
        reply: Written | Failed = decode_reply(said)
        if isinstance(reply, Written):
            return reply
        error = _error(reply)
        if isinstance(error, StoreFailed):
            self._failed(str(error))
        raise error

    def close(self) -> None:
        """Have the process finish what it has in hand, and write nothing more."""
        with self._turn:
            self._closed = True
            self._end()

    def _start(self) -> None:
        self._line, other = socketpair()
        with other:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "threedice.log.scribing"],
                stdin=other.fileno(),
                pass_fds=self._keep_open,
            )
        self._ready = False
        self._line.sendall(framed(encode(self._place)))
        self._line.setblocking(False)

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        self._line.close()
        try:
            process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _outcomes(reply: Written, count: int) -> list[Outcome]:
    outcomes: list[Outcome] = [ACCEPTED] * count
    for at, (stream, head) in reply.conflicts.items():
        outcomes[at] = Conflict(stream, head)
    for at, answer in reply.known.items():
        outcomes[at] = Known(answer)
    return outcomes


def _error(failed: Failed) -> ThreediceError:
    kind = getattr(errors, failed.kind, None)
    if not (isinstance(kind, type) and issubclass(kind, ThreediceError)):
        return InvariantBroken(f"{failed.kind}: {failed.words}")
    try:
        return kind(failed.words)
    except TypeError:  # an error that is made of more than words
        return InvariantBroken(f"{failed.kind}: {failed.words}")


# --- messages -----------------------------------------------------------------------------------

# Each side waits for the answer to what it said before it says more: behind a message there is
# never another.


def framed(message: bytes) -> bytes:
    """Return a message as it is sent: its length first."""
    return LENGTH.pack(len(message)) + message


def missing(said: bytes | bytearray) -> bool:
    """Tell whether a message has not come completely yet."""
    return len(said) < LENGTH.size or len(said) < LENGTH.size + LENGTH.unpack_from(said)[0]


async def _exchange(line: socket, message: bytes) -> bytes:
    """Send a message, if any, and return the answer; nothing where the other side has ended."""
    loop, said = asyncio.get_running_loop(), b""
    if message:
        await loop.sock_sendall(line, framed(message))
    while missing(said):
        more = await loop.sock_recv(line, ROOM)
        if not more:
            return b""
        said += more
    return said[LENGTH.size :]
