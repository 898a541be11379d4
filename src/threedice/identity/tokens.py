"""API tokens for programs, and the token cache that sessions share.

Tokens for programs: named, for some purposes only, shown once, and revoked at any time.

What tokens stand for, remembered between requests for as long as nothing changes.

Only the digest of a token is ever kept, here as in the database.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from hashlib import sha256
from threading import Lock
from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeVar

import msgspec

from threedice.errors import InvalidInput
from threedice.identity.access_changes import publish_access_change
from threedice.identity.accounts import (
    ACCOUNT_COLUMNS,
    CONSOLE,
    Account,
    fetch_account,
    new_id,
    parse_account,
    validate_text,
)
from threedice.identity.audit_trail import record_security_event
from threedice.identity.errors import AccountRefused, RecordNotFound
from threedice.identity.roles import HOUR, SECOND

if TYPE_CHECKING:
    from collections.abc import Iterable

    from threedice.identity.access_changes import AccessChange, IdentityContext
    from threedice.identity.database import SqlRow, SqlRunner


TOKEN_PREFIX: Final = "td_"


_SCOPE: Final = re.compile(r"[a-z][a-z-]{0,31}")


class ApiToken(msgspec.Struct, frozen=True):
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

    def has_scope(self, scope: str) -> bool:
        """Tell whether the program may be used for a purpose."""
        return scope in self.scopes


class NewToken(msgspec.Struct, frozen=True):
    """A program with its token, which is shown once and kept nowhere."""

    token: str
    program: ApiToken


@dataclass(slots=True)
class _CachedToken:
    """A program as the database has it, and in which hour it was really last used."""

    token: ApiToken
    used: int

    @property
    def id(self) -> str:
        return self.token.id

    @property
    def account_id(self) -> str:
        return self.token.account.id


_SELECT_TOKEN: Final = (
    f"SELECT {ACCOUNT_COLUMNS}, t.id, t.name, t.prefix, t.scopes, t.created, t.expires, t.used"
    " FROM people_tokens t JOIN people_accounts a ON a.id = t.account"
)


def _parse_token(row: SqlRow) -> ApiToken:
    id_, name, prefix, scopes, created, expires, used = row[5:]
    return ApiToken(
        id_, parse_account(row[:5]), name, prefix, tuple(scopes.split(",")), created, expires, used
    )


class ApiTokens:
    """The programs of a house and their tokens."""

    def __init__(self, context: IdentityContext) -> None:
        self._context = context
        self._cache: TokenCache[_CachedToken] = TokenCache()
        context.access_changes.subscribe(self._cache.invalidate)
        context.poll_hooks.append(self.write_last_used)

    def create(
        self,
        account: str,
        name: str,
        scopes: Iterable[str],
        *,
        seconds: int | None = None,
        by: str = CONSOLE,
    ) -> NewToken:
        """Make a token by which a program acts for an account, for so long at most."""
        title, asked = validate_text("a token's name", name, 64), _validate_scopes(scopes)
        if seconds is not None and seconds <= 0:
            raise InvalidInput("a token lasts for a while; give a number above zero")
        now, id_ = self._context.clock(), new_id()
        expires = 0 if seconds is None else now + seconds * SECOND
        prefix = TOKEN_PREFIX + secrets.token_hex(4)
        token = f"{prefix}_{secrets.token_urlsafe(32)}"

        def work(run: SqlRunner) -> ApiToken:
            if not fetch_account(run, account).enabled:
                raise AccountRefused("disabled", "this account is disabled")
            run(
                "INSERT INTO people_tokens"
                " (id, digest, prefix, account, name, scopes, created, expires, used)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0)",
                (id_, hash_token(token), prefix, account, title, ",".join(asked), now, expires),
            )
            record_security_event(
                run, now, "token-made", account, by, detail=f"{prefix} for {','.join(asked)}"
            )
            return _parse_token(run(f"{_SELECT_TOKEN} WHERE t.id = ?", (id_,))[0])

        return NewToken(token, self._context.transact(work))

    def resolve(self, token: str) -> ApiToken | None:
        """Return the program of a token, or nothing."""
        if not token.startswith(TOKEN_PREFIX) or len(token) > MAX_TOKEN_CHARACTERS:
            return None
        now = self._context.clock()
        self._context.poll_if_stale(now)
        digest = hash_token(token)
        known = self._cache.get(digest) or self._load(digest)
        if known is None or not known.token.account.enabled:
            return None
        if 0 < known.token.expires <= now:
            return None
        known.used = now - now % HOUR
        return known.token

    def list_for_account(self, account: str) -> list[ApiToken]:
        """Return the programs of an account by their names."""
        found = self._context.database.query(f"{_SELECT_TOKEN} WHERE t.account = ?", (account,))
        return sorted(map(_parse_token, found), key=lambda program: program.name)

    def revoke(self, token: str, *, by: str = CONSOLE) -> None:
        """Have a token be worth nothing any more, by its id."""
        now = self._context.clock()

        def work(run: SqlRunner) -> None:
            sql = "DELETE FROM people_tokens WHERE id = ? RETURNING account, prefix"
            revoked = run(sql, (token,))
            if not revoked:
                raise RecordNotFound("token", token)
            ((account, prefix),) = revoked
            publish_access_change(run, account, "ended", token)
            record_security_event(run, now, "token-revoked", account, by, detail=prefix)

        self._context.transact(work)

    def write_last_used(self) -> None:
        """Write down in which hour programs were last used."""
        due = [
            (known.used, known.id)
            for known in self._cache.values()
            if known.used > known.token.used
        ]
        if not due:
            return

        def work(run: SqlRunner) -> None:
            for used, id_ in due:
                sql = "UPDATE people_tokens SET used = ? WHERE id = ? AND used < ?"
                run(sql, (used, id_, used))

        self._context.database.transact(work, durable=False)
        for known in self._cache.values():
            known.token = msgspec.structs.replace(known.token, used=known.used)

    def _load(self, digest: bytes) -> _CachedToken | None:
        if self._cache.is_full():
            self.write_last_used()
            self._cache.clear()
        epoch = self._cache.epoch
        found = self._context.database.query(f"{_SELECT_TOKEN} WHERE t.digest = ?", (digest,))
        if not found:
            return None
        program = _parse_token(found[0])
        known = _CachedToken(program, program.used)
        self._cache.put(digest, known, epoch)
        return known


def _validate_scopes(scopes: Iterable[str]) -> tuple[str, ...]:
    asked = tuple(sorted(set(scopes)))
    if not asked or not all(map(_SCOPE.fullmatch, asked)):
        raise InvalidInput("a token is for one purpose at least, such as read, play or deal")
    return asked


MAX_CACHED_TOKENS: Final = 20_000


MAX_TOKEN_CHARACTERS: Final = 200


class CachedCredential(Protocol):
    """Whom a token stands for."""

    @property
    def id(self) -> str:
        """The id of the session or the program's token."""

    @property
    def account_id(self) -> str:
        """The account it belongs to."""


CredentialT = TypeVar("CredentialT", bound=CachedCredential)


def hash_token(token: str) -> bytes:
    """Return what is kept of a token."""
    return sha256(token[: MAX_TOKEN_CHARACTERS + 1].encode(errors="surrogatepass")).digest()


class TokenCache(Generic[CredentialT]):
    """Whom digests stand for, until somebody announces that it changed."""

    def __init__(self) -> None:
        self._entries: dict[bytes, CredentialT] = {}
        self._lock = Lock()
        self.epoch = 0
        """Which changes were heard of: what was read before one of them is not put in after."""

    def get(self, digest: bytes) -> CredentialT | None:
        """Return whom a digest stands for, if that is remembered."""
        return self._entries.get(digest)

    def put(self, digest: bytes, credential: CredentialT, epoch: int) -> None:
        """Remember whom a digest stands for, as it was read at an epoch."""
        with self._lock:
            if epoch == self.epoch:
                self._entries[digest] = credential

    def is_full(self) -> bool:
        """Tell whether something must be forgotten first."""
        return len(self._entries) >= MAX_CACHED_TOKENS

    def clear(self) -> None:
        """Forget everything; it can be read again."""
        with self._lock:
            self.epoch += 1
            self._entries = {}

    def values(self) -> list[CredentialT]:
        """Return everybody who is remembered."""
        with self._lock:
            return list(self._entries.values())

    def invalidate(self, change: AccessChange) -> None:
        """Forget what a change concerns."""
        with self._lock:
            self.epoch += 1
            self._entries = {
                digest: known
                for digest, known in self._entries.items()
                if not _is_affected(change, known)
            }


def _is_affected(change: AccessChange, credential: CachedCredential) -> bool:
    if change.account not in ("", credential.account_id):
        return False
    return change.session in ("", credential.id)
