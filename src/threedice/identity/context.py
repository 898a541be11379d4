"""What all parts of this package share: database, clock, key, policy, and transactions."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar

from threedice.errors import OperatingFailure

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from threedice.db import Database, Result, SqlRow, SqlRunner
    from threedice.identity.access_changes import AccessChanges
    from threedice.identity.encryption_key import EncryptionKey
    from threedice.identity.passwords import Argon2Hasher
    from threedice.identity.roles import IdentityPolicy, MicrosecondClock


@dataclass(frozen=True, slots=True)
class Transaction:
    """An open transaction: call it to run a statement; `now` is the time it began."""

    run: SqlRunner
    now: int

    def __call__(self, sql: str, params: Sequence[Any] = (), /) -> list[SqlRow]:
        """Run a statement with `?` for each parameter, and return its rows."""
        return self.run(sql, params)


@dataclass(frozen=True, slots=True)
class IdentityContext:
    """The state that this package shares."""

    database: Database
    clock: MicrosecondClock
    encryption_key: EncryptionKey
    policy: IdentityPolicy
    hasher: Argon2Hasher
    access_changes: AccessChanges
    poll_hooks: list[Callable[[], None]] = field(default_factory=list)
    """Functions that run at every poll, before changes are delivered."""

    def transact(self, work: Callable[[Transaction], Result]) -> Result:
        """Run a durable transaction, then deliver its changes in this process before returning."""
        now = self.clock()
        result = self.database.transact(lambda run: work(Transaction(run, now)))
        # It is committed. If polling fails, the cache goes stale and is not trusted either.
        with suppress(OperatingFailure):
            self.access_changes.poll()
        return result

    def poll(self) -> None:
        """Run the poll hooks, then deliver the changes of other servers."""
        for hook in self.poll_hooks:
            hook()
        self.access_changes.poll()

    def poll_if_stale(self, now: int) -> None:
        """Poll if the last poll is too long ago."""
        if self.access_changes.is_stale(now):
            self.poll()


class _HasContext(Protocol):
    _context: IdentityContext


_PartT = TypeVar("_PartT", bound=_HasContext)
_P = ParamSpec("_P")
_T = TypeVar("_T")


def transactional(
    method: Callable[Concatenate[_PartT, Transaction, _P], _T],
) -> Callable[Concatenate[_PartT, _P], _T]:
    """Run a method in a durable transaction, which it receives as its first argument."""

    @wraps(method)
    def transact(part: _PartT, /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        return part._context.transact(lambda run: method(part, run, *args, **kwargs))

    return transact
