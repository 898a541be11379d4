"""Tokens for programs: named, for some purposes only, shown once, and revoked at any time."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec

from threedice.errors import InvalidInput
from threedice.people.accounts import COLUMNS, Account, account_of, fetch
from threedice.people.changes import announce
from threedice.people.errors import AccountRefused, NoSuch
from threedice.people.names import CONSOLE, checked_text, new_id
from threedice.people.policy import HOUR, SECOND
from threedice.people.remembered import LONGEST_TOKEN, Remembered, digest_of
from threedice.people.trail import note

if TYPE_CHECKING:
    from collections.abc import Iterable

    from threedice.people.database import Row, Run
    from threedice.people.records import Records

BEGINS: Final = "td_"
_SCOPE: Final = re.compile(r"[a-z][a-z-]{0,31}")


class Program(msgspec.Struct, frozen=True):
    """A program that acts for an account, and what for; `expires` and `used` are 0 for never.

    Of its token only the prefix is known.
    """

    id: str
    account: Account
    name: str
    prefix: str
    scopes: tuple[str, ...]
    created: int
    expires: int
    used: int

    def allows(self, scope: str) -> bool:
        """Tell whether the program may be used for a purpose."""
        return scope in self.scopes


class NewToken(msgspec.Struct, frozen=True):
    """A program with its token, which is shown once and kept nowhere."""

    token: str
    program: Program


@dataclass(slots=True)
class _Known:
    """A program as the database has it, and in which hour it was really last used."""

    program: Program
    used: int

    @property
    def id(self) -> str:
        return self.program.id

    @property
    def holder(self) -> str:
        return self.program.account.id


_FACTS: Final = (
    f"SELECT {COLUMNS}, t.id, t.name, t.prefix, t.scopes, t.created, t.expires, t.used"
    " FROM people_tokens t JOIN people_accounts a ON a.id = t.account"
)


def _program(row: Row) -> Program:
    id_, name, prefix, scopes, created, expires, used = row[5:]
    return Program(
        id_, account_of(row[:5]), name, prefix, tuple(scopes.split(",")), created, expires, used
    )


class Tokens:
    """The programs of a house and their tokens."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self._remembered: Remembered[_Known] = Remembered()
        records.changes.listen(self._remembered.hear)
        records.chores.append(self.write_used)

    def make(
        self,
        account: str,
        name: str,
        scopes: Iterable[str],
        *,
        seconds: int | None = None,
        by: str = CONSOLE,
    ) -> NewToken:
        """Make a token by which a program acts for an account, for so long at most."""
        title, asked = checked_text("a token's name", name, 64), _checked_scopes(scopes)
        if seconds is not None and seconds <= 0:
            raise InvalidInput("a token lasts for a while; give a number above zero")
        now, id_ = self._records.clock(), new_id()
        expires = 0 if seconds is None else now + seconds * SECOND
        prefix = BEGINS + secrets.token_hex(4)
        token = f"{prefix}_{secrets.token_urlsafe(32)}"

        def work(run: Run) -> Program:
            if not fetch(run, account).enabled:
                raise AccountRefused("disabled", "this account is disabled")
            run(
                "INSERT INTO people_tokens"
                " (id, digest, prefix, account, name, scopes, created, expires, used)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0)",
                (id_, digest_of(token), prefix, account, title, ",".join(asked), now, expires),
            )
            note(run, now, "token-made", account, by, detail=f"{prefix} for {','.join(asked)}")
            return _program(run(f"{_FACTS} WHERE t.id = ?", (id_,))[0])

        return NewToken(token, self._records.change(work))

    def recognise(self, token: str) -> Program | None:
        """Return the program of a token, or nothing."""
        if not token.startswith(BEGINS) or len(token) > LONGEST_TOKEN:
            return None
        now = self._records.clock()
        self._records.keep_up(now)
        digest = digest_of(token)
        known = self._remembered.get(digest) or self._read(digest)
        if known is None or not known.program.account.enabled:
            return None
        if 0 < known.program.expires <= now:
            return None
        known.used = now - now % HOUR
        return known.program

    def of(self, account: str) -> list[Program]:
        """Return the programs of an account by their names."""
        found = self._records.database.rows(f"{_FACTS} WHERE t.account = ?", (account,))
        return sorted(map(_program, found), key=lambda program: program.name)

    def revoke(self, token: str, *, by: str = CONSOLE) -> None:
        """Have a token be worth nothing any more, by its id."""
        now = self._records.clock()

        def work(run: Run) -> None:
            sql = "DELETE FROM people_tokens WHERE id = ? RETURNING account, prefix"
            revoked = run(sql, (token,))
            if not revoked:
                raise NoSuch("token", token)
            ((account, prefix),) = revoked
            announce(run, account, "ended", token)
            note(run, now, "token-revoked", account, by, detail=prefix)

        self._records.change(work)

    def write_used(self) -> None:
        """Write down in which hour programs were last used."""
        due = [
            (known.used, known.id)
            for known in self._remembered.all()
            if known.used > known.program.used
        ]
        if not due:
            return

        def work(run: Run) -> None:
            for used, id_ in due:
                sql = "UPDATE people_tokens SET used = ? WHERE id = ? AND used < ?"
                run(sql, (used, id_, used))

        self._records.database.change(work, lasting=False)
        for known in self._remembered.all():
            known.program = msgspec.structs.replace(known.program, used=known.used)

    def _read(self, digest: bytes) -> _Known | None:
        if self._remembered.is_full():
            self.write_used()
            self._remembered.forget_all()
        epoch = self._remembered.epoch
        found = self._records.database.rows(f"{_FACTS} WHERE t.digest = ?", (digest,))
        if not found:
            return None
        program = _program(found[0])
        known = _Known(program, program.used)
        self._remembered.put(digest, known, epoch)
        return known


def _checked_scopes(scopes: Iterable[str]) -> tuple[str, ...]:
    asked = tuple(sorted(set(scopes)))
    if not asked or not all(map(_SCOPE.fullmatch, asked)):
        raise InvalidInput("a token is for one purpose at least, such as read, play or deal")
    return asked
