"""What tokens stand for, remembered between requests for as long as nothing changes.

Only the digest of a token is ever kept, here as in the database.
"""

from __future__ import annotations

from hashlib import sha256
from threading import Lock
from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from threedice.people.changes import Change

MOST: Final = 20_000
LONGEST_TOKEN: Final = 200


class Bearer(Protocol):
    """Whom a token stands for."""

    @property
    def id(self) -> str:
        """The id of the session or the program's token."""

    @property
    def holder(self) -> str:
        """The account it belongs to."""


Known = TypeVar("Known", bound=Bearer)


def digest_of(token: str) -> bytes:
    """Return what is kept of a token."""
    return sha256(token[: LONGEST_TOKEN + 1].encode(errors="surrogatepass")).digest()


class Remembered(Generic[Known]):
    """Whom digests stand for, until somebody announces that it changed."""

    def __init__(self) -> None:
        self._known: dict[bytes, Known] = {}
        self._turn = Lock()
        self.epoch = 0
        """Which changes were heard of: what was read before one of them is not put in after."""

    def get(self, digest: bytes) -> Known | None:
        """Return whom a digest stands for, if that is remembered."""
        return self._known.get(digest)

    def put(self, digest: bytes, known: Known, epoch: int) -> None:
        """Remember whom a digest stands for, as it was read at an epoch."""
        with self._turn:
            if epoch == self.epoch:
                self._known[digest] = known

    def is_full(self) -> bool:
        """Tell whether something must be forgotten first."""
        return len(self._known) >= MOST

    def forget_all(self) -> None:
        """Forget everything; it can be read again."""
        with self._turn:
            self.epoch += 1
            self._known = {}

    def all(self) -> list[Known]:
        """Return everybody who is remembered."""
        with self._turn:
            return list(self._known.values())

    def hear(self, change: Change) -> None:
        """Forget what a change concerns."""
        with self._turn:
            self.epoch += 1
            self._known = {
                digest: known
                for digest, known in self._known.items()
                if not _concerns(change, known)
            }


def _concerns(change: Change, known: Bearer) -> bool:
    if change.account not in ("", known.holder):
        return False
    return change.session in ("", known.id)
