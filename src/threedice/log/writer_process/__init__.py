"""Start the process that commits batches for a serving store, and talk to it.

Deciding commands and writing them both take CPU time, and a Python process does only one of them at
a time. So a serving store sends each batch to a second process, which opens the same database with
the same store class, writes the batch, and replies with the outcomes. The process exits when its
store closes or dies, after the batch in progress.

The process is started from the package as installed at that time, which after an upgrade may be
newer than the running house. The handshake ensures that it only writes for a house of its own
version.
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


# --- messages ------------------------------------------------------------------------------------


class WriterProcessTarget(msgspec.Struct, frozen=True, tag="Place"):
    """The database to write; sent over the socket because command lines are public."""

    kind: Literal["sqlite", "postgres"]
    name: str
    seconds: float = 0.0
    file: tuple[int, int] | None = None


class BatchReply(msgspec.Struct, frozen=True, tag="Written"):
    """The batch is written, except for the conflicts and duplicates, by index."""

    conflicts: dict[int, tuple[str, Head]] = {}
    known: dict[int, StoredAnswer] = {}


class BatchFailure(msgspec.Struct, frozen=True, tag="Failed"):
    """The batch failed, or its outcome is unknown: the kind of error and its message.

    A process of another version refuses with this message, and older houses read it, so its form
    must never change.
    """

    kind: str
    words: str


encode_message = msgspec.msgpack.Encoder().encode
decode_reply = msgspec.msgpack.Decoder(BatchReply | BatchFailure).decode


# --- the client side -----------------------------------------------------------------------------


EXIT_TIMEOUT_SECONDS: Final = 10.0
"""How long the process may take to exit once its socket is shut down."""

BLOCKED_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that the process ignores: sent to all processes, they mean the house."""

MSGPACK_ARRAY_HEADER: Final = Struct(">BI")
"""Header of a MessagePack array of up to 2**32 - 1 items."""


class WriterProcess:
    """A store's handle on its writer process; restarts the process when it has exited.

    Batches take `write_lock`, as do the store's own writes. `note_failure` receives the message of
    a failed write and returns the reason if any writer has failed; then nothing more is written.
    With `timeout_seconds`, a process that does not reply in that time is killed, and the outcome of
    its batch is unknown. Without it, the process is waited for, as a disk that does not respond is.
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
        """The id of the running process, or None."""
        return self._process.pid if self._process is not None else None

    def encode_proposal(self, proposal: Proposal) -> bytes:
        """Encode a proposal for `write`."""
        try:
            return encode_message(proposal)
        except (UnicodeEncodeError, OverflowError) as error:
            raise InvalidInput(f"no database can hold this: {error}") from error

    async def write(self, batch: Sequence[bytes]) -> list[ProposalOutcome]:
        """Write a batch of encoded proposals and return their outcomes."""
        async with self._write_lock.acquire_async():
            if self._closed:
                raise StoreUnavailable("the store has been closed")
            if reason := self._note_failure(""):
                raise StoreFailed(reason)
            if self._process is None:
                self._start()
            if not self._ready:
                await self._await_ready()
            reply = await self._request(
                b"".join((MSGPACK_ARRAY_HEADER.pack(0xDD, len(batch)), *batch))
            )
        return _rebuild_outcomes(reply, len(batch))

    def close(self) -> None:
        """Stop the process after the batch in progress; later writes fail."""
        with self._write_lock:
            self._closed = True
            self._stop_process()

    async def _await_ready(self) -> None:
        """Wait until the process has opened its database; stop it if it cannot."""
        try:
            await self._request()
        except ThreediceError:
            self._stop_process()
            raise
        self._ready = True

    async def _request(self, message: bytes = b"") -> BatchReply:
        """Send a message, if any, and return the reply."""
        try:
            data = await self._exchange_or_kill(message)
        except BaseException:  # the next request must not receive this reply
            self._stop_process()
            raise
        if not data:
            raise StoreUnavailable(self._stop_process())
        reply: BatchReply | BatchFailure = decode_reply(data)
        if isinstance(reply, BatchReply):
            return reply
        error = _rebuild_error(reply)
        if isinstance(error, StoreFailed):
            self._note_failure(str(error))
        raise error

    async def _exchange_or_kill(self, message: bytes) -> bytes:
        """Exchange messages; return nothing if the process has exited or is killed."""
        self._awaiting_reply = True
        try:
            async with asyncio.timeout(self.timeout_seconds):
                return await _exchange(self._socket, message)
        except TimeoutError:
            if self._process is not None:  # otherwise it is already being stopped
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
            raise StoreUnavailable(f"the writer process cannot be started: {error}") from error
        self._ready = False

    def _stop_process(self) -> str:
        """Stop the process after the batch in progress; return how it exited."""
        process, self._process = self._process, None
        description = "the store has been closed"
        if process is not None:
            with suppress(OSError):  # the process has already exited
                self._socket.shutdown(SHUT_RDWR)
            description = (
                f"the writer process has exited ({_wait_for_exit(process)}); a new one takes over"
            )
        if not self._awaiting_reply:  # otherwise the waiting request must read the end of file
            self._socket.close()
        return description


def _spawn_process(
    target: WriterProcessTarget, inherited_fds: tuple[int, ...]
) -> tuple[socket, subprocess.Popen[bytes]]:
    """Start a process and send it the handshake with its target."""
    own_end, other_end = socketpair()
    with other_end:
        try:
            own_end.sendall(
                frame_message(encode_handshake(PROTOCOL_FINGERPRINT, encode_message(target)))
            )
            own_end.setblocking(False)
            with _signals_blocked():
                return own_end, subprocess.Popen(
                    [sys.executable, "-P", "-m", "threedice.log.writer_process"],
                    stdin=other_end.fileno(),
                    pass_fds=inherited_fds,
                )
        except BaseException:
            own_end.close()
            raise


@contextmanager
def _signals_blocked() -> Iterator[None]:
    """Block stop signals in a process started meanwhile, from its first instruction."""
    previous = signal.pthread_sigmask(signal.SIG_BLOCK, BLOCKED_SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, previous)


def _wait_for_exit(process: subprocess.Popen[bytes]) -> str:
    """Wait for a process to exit, kill it if it takes too long, and describe its exit.

    A process that survives even a kill is blocked on a disk that does not respond. It exits when
    the disk responds and writes nothing more, so nothing waits for it.
    """
    code = _exit_code(process)
    if code is None:
        process.kill()
        code = _exit_code(process)
    if code is None:
        return "killed, but it does not exit"
    return f"signal {-code}" if code < 0 else f"code {code}"


def _exit_code(process: subprocess.Popen[bytes]) -> int | None:
    """Return the exit code of a process, or None if it does not exit in time."""
    try:
        return process.wait(EXIT_TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        return None


def _pin_target(target: WriterProcessTarget) -> WriterProcessTarget:
    """Make the target's path absolute and add the identity of the file."""
    if target.kind != "sqlite":
        return target
    path = Path(target.name).absolute()
    return WriterProcessTarget("sqlite", str(path), file=file_identity(path))


def file_identity(path: Path) -> tuple[int, int] | None:
    """Return the device and inode of a file, or None if there is no such file."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _rebuild_outcomes(reply: BatchReply, count: int) -> list[ProposalOutcome]:
    outcomes: list[ProposalOutcome] = [ACCEPTED] * count
    for index, (stream, head) in reply.conflicts.items():
        outcomes[index] = HeadConflict(stream, head)
    for index, answer in reply.known.items():
        outcomes[index] = DuplicateKey(answer)
    return outcomes


def _rebuild_error(failure: BatchFailure) -> ThreediceError:
    kind = getattr(errors, failure.kind, None)
    if not (isinstance(kind, type) and issubclass(kind, ThreediceError)):
        return InvariantBroken(f"{failure.kind}: {failure.words}")
    try:
        return kind(failure.words)
    except TypeError:  # the error takes more arguments than a message
        return InvariantBroken(f"{failure.kind}: {failure.words}")


# --- handshake -----------------------------------------------------------------------------------


class Handshake(msgspec.Struct, frozen=True):
    """The sender's version, the fingerprint of its messages, and its first message.

    Other versions decode this, so its form must never change.
    """

    version: str
    forms: str
    message: msgspec.Raw


_encode_handshake = msgspec.msgpack.Encoder().encode
_decode_handshake = msgspec.msgpack.Decoder(Handshake).decode


def fingerprint_messages(messages: Sequence[Any], *others: object) -> str:
    """Return a hash over the types of messages and any other values."""
    described = repr((msgspec.inspect.multi_type_info(messages), others))
    return sha256(described.encode()).hexdigest()


PROTOCOL_FINGERPRINT: Final = fingerprint_messages(
    (WriterProcessTarget, Proposal, BatchReply, BatchFailure), SCHEMA_VERSION
)
"""Changes whenever the messages or the database schema change."""


def encode_handshake(fingerprint: str, message: bytes) -> bytes:
    """Encode the first message, together with the sender's version."""
    return _encode_handshake(Handshake(__version__, fingerprint, msgspec.Raw(message)))


def check_handshake(fingerprint: str, received: bytes) -> bytes:
    """Return the message of a handshake, if the house is of this very version."""
    theirs, own = "another version", _describe_version(__version__, fingerprint)
    try:
        handshake = _decode_handshake(received)
    except (msgspec.DecodeError, UnicodeDecodeError):
        pass  # not a handshake of this version, whatever it is
    else:
        theirs = _describe_version(handshake.version, handshake.forms)
        if theirs == own:
            return bytes(handshake.message)
    raise HouseOutdated(
        f"Threedice was replaced while the house is running: the house is {theirs}, the installed"
        f" package is {own}; restart the house, nothing acknowledged is lost"
    )


def _describe_version(version: str, fingerprint: str) -> str:
    return f"{version} ({fingerprint[:12]})"


# --- framing -------------------------------------------------------------------------------------


FRAME_LENGTH: Final = Struct(">I")

RECEIVE_BYTES: Final = 1 << 20
"""How many bytes to read from the socket at a time."""


# Each side waits for the reply before it sends again, so at most one message is in transit.


def frame_message(message: bytes) -> bytes:
    """Prefix a message with its length."""
    return FRAME_LENGTH.pack(len(message)) + message


def is_incomplete(received: bytes | bytearray) -> bool:
    """Return whether more bytes of a message are to come."""
    return (
        len(received) < FRAME_LENGTH.size
        or len(received) < FRAME_LENGTH.size + FRAME_LENGTH.unpack_from(received)[0]
    )


async def _exchange(channel: socket, message: bytes) -> bytes:
    """Send a message, if any, and return the reply; nothing if the other side has closed."""
    loop, received = asyncio.get_running_loop(), b""
    if message:
        await loop.sock_sendall(channel, frame_message(message))
    while is_incomplete(received):
        chunk = await loop.sock_recv(channel, RECEIVE_BYTES)
        if not chunk:
            return b""
        received += chunk
    return received[FRAME_LENGTH.size :]
