"""The scribe: a process of its own that carries out `write` for a store in service.

Deciding and writing are both work, and in one Python process only one of the two is done at a time.
A store that serves hands each batch to its scribe, which runs the same store class on the same
database and says what became of it; the store's own process decides meanwhile. A scribe ends when
its store closes or dies, after the batch in hand.
"""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from socket import SHUT_RDWR, socket, socketpair
from struct import Struct
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from threedice import errors
from threedice.errors import (
    InvalidInput,
    InvariantBroken,
    StoreAway,
    StoreFailed,
    ThreediceError,
)
from threedice.log.entry import Head
from threedice.log.greeting import forms_of, greeting
from threedice.log.judging import ACCEPTED
from threedice.log.schema import VERSION
from threedice.log.store import Answer, Conflict, Known, Outcome, Proposal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from threedice.log.turn import Turn

LENGTH: Final = Struct(">I")
ROOM: Final = 1 << 20
"""How many bytes are taken from the line at once."""

ARRAY: Final = Struct(">BI")
"""How an array of any length begins in MessagePack."""

END_SECONDS: Final = 10.0
"""How long a scribe may take to end once nobody talks to it any more."""

STOPS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that a scribe does not take: whoever sends one to all processes means the house."""


class Place(msgspec.Struct, frozen=True, tag="Place"):
    """Which database is written; it goes by the pipe, since others can read a command line."""

    kind: Literal["sqlite", "postgres"]
    name: str
    seconds: float = 0.0
    file: tuple[int, int] | None = None


class Written(msgspec.Struct, frozen=True, tag="Written"):
    """A batch is written: all of it but what lost, and what was known already, by its place."""

    conflicts: dict[int, tuple[str, Head]] = {}
    known: dict[int, Answer] = {}


class Failed(msgspec.Struct, frozen=True, tag="Failed"):
    """A batch is not written, or nobody knows: the kind of error, and its words.

    A scribe of another version says so in this form: houses read it that are older.
    """

    kind: str
    words: str


encode = msgspec.msgpack.Encoder().encode
decode_reply = msgspec.msgpack.Decoder(Written | Failed).decode

FORMS: Final = forms_of((Place, Proposal, Written, Failed), VERSION)
"""What changes when house and scribe would not understand each other, or not the database."""


class Scribe:
    """A store's hold on the process that writes for it; started anew when it has ended.

    It writes in `turn` with whoever else writes there. `failed` is told when it could not write,
    and says whether anybody could not: then nothing more is written. `patience` is for how many
    seconds it may leave anybody without an answer: then it is killed, and nobody knows what became
    of the batch. Without any it is waited for, as a disk is that does not answer.
    """

    def __init__(
        self,
        place: Place,
        *,
        failed: Callable[[str], str],
        turn: Turn,
        patience: float | None = None,
        keep_open: tuple[int, ...] = (),
    ) -> None:
        self.patience = patience
        self._place, self._keep_open = _held_to(place), keep_open
        self._failed, self._turn = failed, turn
        self._closed = self._ready = self._talking = False
        self._process: subprocess.Popen[bytes] | None = None
        self._start()

    @property
    def pid(self) -> int | None:
        """The number of the process, where there is one."""
        return self._process.pid if self._process is not None else None

    def words(self, proposal: Proposal) -> bytes:
        """Return a proposal as it is told to the process."""
        try:
            return encode(proposal)
        except (UnicodeEncodeError, OverflowError) as error:
            raise InvalidInput(f"no database can hold this: {error}") from error

    async def write(self, batch: Sequence[bytes]) -> list[Outcome]:
        """Have a batch written, and wait for what becomes of it."""
        async with self._turn.soon():
            if self._closed:
                raise StoreAway("the store has been closed")
            if cause := self._failed(""):
                raise StoreFailed(cause)
            if self._process is None:
                self._start()
            if not self._ready:
                await self._opened()
            reply = await self._reply(b"".join((ARRAY.pack(0xDD, len(batch)), *batch)))
        return _outcomes(reply, len(batch))

    def close(self) -> None:
        """Have the process finish what it has in hand, and write nothing more."""
        with self._turn:
            self._closed = True
            self._end()

    async def _opened(self) -> None:
        """Wait until the process has its database open; one that cannot have it ends."""
        try:
            await self._reply()
        except ThreediceError:
            self._end()
            raise
        self._ready = True

    async def _reply(self, message: bytes = b"") -> Written:
        """Return the answer to a message, or to the one sent before."""
        try:
            said = await self._said(message)
        except BaseException:  # whoever asks next must not take this answer for his own
            self._end()
            raise
        if not said:
            raise StoreAway(self._end())
        reply: Written | Failed = decode_reply(said)
        if isinstance(reply, Written):
            return reply
        error = _error(reply)
        if isinstance(error, StoreFailed):
            self._failed(str(error))
        raise error

    async def _said(self, message: bytes) -> bytes:
        """Return what is answered to a message; nothing where the process has ended."""
        self._talking = True
        try:
            async with asyncio.timeout(self.patience):
                return await _exchange(self._line, message)
        except TimeoutError:
            if self._process is not None:  # else it is being ended already
                self._process.kill()
            return b""
        except OSError:
            return b""
        finally:
            self._talking = False
            if self._closed:
                self._line.close()

    def _start(self) -> None:
        try:
            self._line, self._process = _started(self._place, self._keep_open)
        except OSError as error:
            raise StoreAway(f"the process that writes cannot be started: {error}") from error
        self._ready = False

    def _end(self) -> str:
        """End the process after what it has in hand, and return how it ended, in words."""
        process, self._process = self._process, None
        ended = "the store has been closed"
        if process is not None:
            with suppress(OSError):  # it has gone already
                self._line.shutdown(SHUT_RDWR)
            ended = f"the process that writes has ended ({_waited(process)}); another takes over"
        if not self._talking:  # else whoever waits for an answer must hear that none comes
            self._line.close()
        return ended


def _started(place: Place, keep_open: tuple[int, ...]) -> tuple[socket, subprocess.Popen[bytes]]:
    """Start a process, and return it with the line to it, by which it hears of its place."""
    line, other = socketpair()
    with other:
        try:
            line.sendall(framed(greeting(FORMS, encode(place))))
            line.setblocking(False)
            with _stops_blocked():
                return line, subprocess.Popen(
                    [sys.executable, "-P", "-m", "threedice.log.scribing"],
                    stdin=other.fileno(),
                    pass_fds=keep_open,
                )
        except BaseException:
            line.close()
            raise


def _waited(process: subprocess.Popen[bytes]) -> str:
    """Wait for a process to end, which it must within a time, and return how it did.

    One that not even a kill ends is in the hands of a disk that does not answer. It goes when that
    does, and does nothing more: nobody waits for it, least of all a loop.
    """
    code = _ended(process)
    if code is None:
        process.kill()
        code = _ended(process)
    if code is None:
        return "it does not end, killed as it is"
    return f"signal {-code}" if code < 0 else f"code {code}"


def _ended(process: subprocess.Popen[bytes]) -> int | None:
    """Return how a process has ended, or nothing where it has not within a time."""
    try:
        return process.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        return None


def _held_to(place: Place) -> Place:
    """Return a place that means the same file from wherever it is looked at, and no other."""
    if place.kind != "sqlite":
        return place
    path = Path(place.name).absolute()
    return Place("sqlite", str(path), file=identity(path))


def identity(path: Path) -> tuple[int, int] | None:
    """Return what a file is known by whatever its name, or nothing where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


@contextmanager
def _stops_blocked() -> Iterator[None]:
    """Have a process that is started meanwhile take no signal to stop, from its beginning on."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


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
