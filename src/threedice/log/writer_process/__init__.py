"""Start and talk to the process that commits batches for a serving store.

What a house says first to its scribe: of which version it is, and only then what is to be done.

A scribe is started from the package as it is installed at that time, which may be newer than the
house that starts it. What one of them means the other might read as something else, so a scribe
writes for a house of its own version only.

The scribe: a process of its own that carries out `write` for a store in service.

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
from hashlib import sha256
from pathlib import Path
from socket import SHUT_RDWR, socket, socketpair
from struct import Struct
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

from threedice import __version__, errors
from threedice.errors import (
    HouseOutdated,
    InvalidInput,
    InvariantBroken,
    StoreFailed,
    StoreUnavailable,
    ThreediceError,
)
from threedice.log.conflicts import ACCEPTED
from threedice.log.entry import Head
from threedice.log.store import DuplicateKey, HeadConflict, Proposal, ProposalOutcome, StoredAnswer
from threedice.log.stores.schema import SCHEMA_VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from threedice.log.stores.files import WriteLock


class Handshake(msgspec.Struct, frozen=True):
    """The version of a house, that of its messages, and a message that nobody else need read.

    Other versions read this: what is here stays, whatever else may change.
    """

    version: str
    forms: str
    message: msgspec.Raw


_encode_handshake = msgspec.msgpack.Encoder().encode


_decode_handshake = msgspec.msgpack.Decoder(Handshake).decode


def fingerprint_messages(messages: Sequence[Any], *others: object) -> str:
    """Return what changes with the form of any message, or with anything else that is given."""
    said = repr((msgspec.inspect.multi_type_info(messages), others))
    return sha256(said.encode()).hexdigest()


def encode_handshake(fingerprint: str, message: bytes) -> bytes:
    """Return a message with the version of whoever sends it."""
    return _encode_handshake(Handshake(__version__, fingerprint, msgspec.Raw(message)))


def check_handshake(fingerprint: str, received: bytes) -> bytes:
    """Return the message that comes with a greeting, from a house of this very version only."""
    theirs, own = "another version", _describe_version(__version__, fingerprint)
    try:
        heard = _decode_handshake(received)
    except (msgspec.DecodeError, UnicodeDecodeError):
        pass  # whatever it may be, it is not what this version says
    else:
        theirs = _describe_version(heard.version, heard.forms)
        if theirs == own:
            return bytes(heard.message)
    raise HouseOutdated(
        f"Threedice was replaced while the house runs: the house is {theirs}, what is installed is"
        f" {own}; restart the house, nothing acknowledged is lost"
    )


def _describe_version(version: str, fingerprint: str) -> str:
    return f"{version} ({fingerprint[:12]})"


FRAME_LENGTH: Final = Struct(">I")


RECEIVE_BYTES: Final = 1 << 20
"""How many bytes are taken from the line at once."""


MSGPACK_ARRAY_HEADER: Final = Struct(">BI")
"""How an array of any length begins in MessagePack."""


EXIT_TIMEOUT_SECONDS: Final = 10.0
"""How long a scribe may take to end once nobody talks to it any more."""


BLOCKED_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that a scribe does not take: whoever sends one to all processes means the house."""


class WriterProcessTarget(msgspec.Struct, frozen=True, tag="Place"):
    """Which database is written; it goes by the pipe, since others can read a command line."""

    kind: Literal["sqlite", "postgres"]
    name: str
    seconds: float = 0.0
    file: tuple[int, int] | None = None


class BatchReply(msgspec.Struct, frozen=True, tag="Written"):
    """A batch is written: all of it but what lost, and what was known already, by its place."""

    conflicts: dict[int, tuple[str, Head]] = {}
    known: dict[int, StoredAnswer] = {}


class BatchFailure(msgspec.Struct, frozen=True, tag="Failed"):
    """A batch is not written, or nobody knows: the kind of error, and its words.

    A scribe of another version says so in this form: houses read it that are older.
    """

    kind: str
    words: str


encode_message = msgspec.msgpack.Encoder().encode


decode_reply = msgspec.msgpack.Decoder(BatchReply | BatchFailure).decode


PROTOCOL_FINGERPRINT: Final = fingerprint_messages(
    (WriterProcessTarget, Proposal, BatchReply, BatchFailure), SCHEMA_VERSION
)
"""What changes when house and scribe would not understand each other, or not the database."""


class WriterProcess:
    """A store's hold on the process that writes for it; started anew when it has ended.

    It writes in `turn` with whoever else writes there. `failed` is told when it could not write,
    and says whether anybody could not: then nothing more is written. `patience` is for how many
    seconds it may leave anybody without an answer: then it is killed, and nobody knows what became
    of the batch. Without any it is waited for, as a disk is that does not answer.
    """

    def __init__(
        self,
        target: WriterProcessTarget,
        *,
        note_failure: Callable[[str], str],
        write_lock: WriteLock,
        timeout_seconds: float | None = None,
        inherited_fds: tuple[int, ...] = (),
    ) -> None:
        self.timeout_seconds = timeout_seconds
        self._target, self._inherited_fds = _pin_target(target), inherited_fds
        self._note_failure, self._write_lock = note_failure, write_lock
        self._closed = self._ready = self._awaiting_reply = False
        self._process: subprocess.Popen[bytes] | None = None
        self._start()

    @property
    def pid(self) -> int | None:
        """The number of the process, where there is one."""
        return self._process.pid if self._process is not None else None

    def encode_proposal(self, proposal: Proposal) -> bytes:
        """Return a proposal as it is told to the process."""
        try:
            return encode_message(proposal)
        except (UnicodeEncodeError, OverflowError) as error:
            raise InvalidInput(f"no database can hold this: {error}") from error

    async def write(self, batch: Sequence[bytes]) -> list[ProposalOutcome]:
        """Have a batch written, and wait for what becomes of it."""
        async with self._write_lock.acquire_async():
            if self._closed:
                raise StoreUnavailable("the store has been closed")
            if cause := self._note_failure(""):
                raise StoreFailed(cause)
            if self._process is None:
                self._start()
            if not self._ready:
                await self._await_ready()
            reply = await self._request(
                b"".join((MSGPACK_ARRAY_HEADER.pack(0xDD, len(batch)), *batch))
            )
        return _rebuild_outcomes(reply, len(batch))

    def close(self) -> None:
        """Have the process finish what it has in hand, and write nothing more."""
        with self._write_lock:
            self._closed = True
            self._stop_process()

    async def _await_ready(self) -> None:
        """Wait until the process has its database open; one that cannot have it ends."""
        try:
            await self._request()
        except ThreediceError:
            self._stop_process()
            raise
        self._ready = True

    async def _request(self, message: bytes = b"") -> BatchReply:
        """Return the answer to a message, or to the one sent before."""
        try:
            said = await self._exchange_or_kill(message)
        except BaseException:  # whoever asks next must not take this answer for his own
            self._stop_process()
            raise
        if not said:
            raise StoreUnavailable(self._stop_process())
        reply: BatchReply | BatchFailure = decode_reply(said)
        if isinstance(reply, BatchReply):
            return reply
        error = _rebuild_error(reply)
        if isinstance(error, StoreFailed):
            self._note_failure(str(error))
        raise error

    async def _exchange_or_kill(self, message: bytes) -> bytes:
        """Return what is answered to a message; nothing where the process has ended."""
        self._awaiting_reply = True
        try:
            async with asyncio.timeout(self.timeout_seconds):
                return await _exchange(self._socket, message)
        except TimeoutError:
            if self._process is not None:  # else it is being ended already
                self._process.kill()
            return b""
        except OSError:
            return b""
        finally:
            self._awaiting_reply = False
            if self._closed:
                self._socket.close()

    def _start(self) -> None:
        try:
            self._socket, self._process = _spawn_process(self._target, self._inherited_fds)
        except OSError as error:
            raise StoreUnavailable(f"the process that writes cannot be started: {error}") from error
        self._ready = False

    def _stop_process(self) -> str:
        """End the process after what it has in hand, and return how it ended, in words."""
        process, self._process = self._process, None
        ended = "the store has been closed"
        if process is not None:
            with suppress(OSError):  # it has gone already
                self._socket.shutdown(SHUT_RDWR)
            ended = (
                f"the process that writes has ended ({_wait_for_exit(process)}); another takes over"
            )
        if not self._awaiting_reply:  # else whoever waits for an answer must hear that none comes
            self._socket.close()
        return ended


def _spawn_process(
    target: WriterProcessTarget, inherited_fds: tuple[int, ...]
) -> tuple[socket, subprocess.Popen[bytes]]:
    """Start a process, and return it with the line to it, by which it hears of its place."""
    line, other = socketpair()
    with other:
        try:
            line.sendall(
                frame_message(encode_handshake(PROTOCOL_FINGERPRINT, encode_message(target)))
            )
            line.setblocking(False)
            with _signals_blocked():
                return line, subprocess.Popen(
                    [sys.executable, "-P", "-m", "threedice.log.writer_process"],
                    stdin=other.fileno(),
                    pass_fds=inherited_fds,
                )
        except BaseException:
            line.close()
            raise


def _wait_for_exit(process: subprocess.Popen[bytes]) -> str:
    """Wait for a process to end, which it must within a time, and return how it did.

    One that not even a kill ends is in the hands of a disk that does not answer. It goes when that
    does, and does nothing more: nobody waits for it, least of all a loop.
    """
    code = _exit_code(process)
    if code is None:
        process.kill()
        code = _exit_code(process)
    if code is None:
        return "it does not end, killed as it is"
    return f"signal {-code}" if code < 0 else f"code {code}"


def _exit_code(process: subprocess.Popen[bytes]) -> int | None:
    """Return how a process has ended, or nothing where it has not within a time."""
    try:
        return process.wait(EXIT_TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        return None


def _pin_target(target: WriterProcessTarget) -> WriterProcessTarget:
    """Return a place that means the same file from wherever it is looked at, and no other."""
    if target.kind != "sqlite":
        return target
    path = Path(target.name).absolute()
    return WriterProcessTarget("sqlite", str(path), file=file_identity(path))


def file_identity(path: Path) -> tuple[int, int] | None:
    """Return what a file is known by whatever its name, or nothing where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


@contextmanager
def _signals_blocked() -> Iterator[None]:
    """Have a process that is started meanwhile take no signal to stop, from its beginning on."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, BLOCKED_SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _rebuild_outcomes(reply: BatchReply, count: int) -> list[ProposalOutcome]:
    outcomes: list[ProposalOutcome] = [ACCEPTED] * count
    for at, (stream, head) in reply.conflicts.items():
        outcomes[at] = HeadConflict(stream, head)
    for at, answer in reply.known.items():
        outcomes[at] = DuplicateKey(answer)
    return outcomes


def _rebuild_error(failure: BatchFailure) -> ThreediceError:
    kind = getattr(errors, failure.kind, None)
    if not (isinstance(kind, type) and issubclass(kind, ThreediceError)):
        return InvariantBroken(f"{failure.kind}: {failure.words}")
    try:
        return kind(failure.words)
    except TypeError:  # an error that is made of more than words
        return InvariantBroken(f"{failure.kind}: {failure.words}")


# --- messages -----------------------------------------------------------------------------------

# Each side waits for the answer to what it said before it says more: behind a message there is
# never another.


def frame_message(message: bytes) -> bytes:
    """Return a message as it is sent: its length first."""
    return FRAME_LENGTH.pack(len(message)) + message


def is_incomplete(received: bytes | bytearray) -> bool:
    """Tell whether a message has not come completely yet."""
    return (
        len(received) < FRAME_LENGTH.size
        or len(received) < FRAME_LENGTH.size + FRAME_LENGTH.unpack_from(received)[0]
    )


async def _exchange(line: socket, message: bytes) -> bytes:
    """Send a message, if any, and return the answer; nothing where the other side has ended."""
    loop, said = asyncio.get_running_loop(), b""
    if message:
        await loop.sock_sendall(line, frame_message(message))
    while is_incomplete(said):
        more = await loop.sock_recv(line, RECEIVE_BYTES)
        if not more:
            return b""
        said += more
    return said[FRAME_LENGTH.size :]
