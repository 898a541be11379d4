"""API tokens for programs, and the token cache that sessions share.

An API token acts for an account, is limited to scopes, is shown once and can be revoked at any
time. Only the SHA-256 of a token is kept, in the database and in the cache.
"""

from __future__ import annotations

import re
import secrets
from hashlib import sha256
from threading import Lock
from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeVar

import msgspec

from threedice.errors import InvalidInput
from threedice.identity.access_changes import publish_access_change, transactional
from threedice.identity.accounts import (
    ACCOUNT_COLUMNS,
    Account,
    fetch_account,
    new_id,
    parse_account,
    validate_text,
)
from threedice.identity.audit_trail import CONSOLE, record_security_event
from threedice.identity.errors import AccountRefused, RecordNotFound, SessionRefused
from threedice.identity.roles import HOUR, SECOND
from threedice.log.stores import schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from threedice.db import SqlRow, SqlRunner
    from threedice.identity.access_changes import AccessChange, IdentityContext, Transaction

TOKEN_PREFIX: Final = "td_"
MAX_TOKEN_CHARACTERS: Final = 200
MAX_CACHED_TOKENS: Final = 20_000
MAX_TOKENS_PER_ACCOUNT: Final = 20
"""Live ones: enough for a person's programs, few enough to look through and revoke."""

_SCOPE: Final = re.compile(r"[a-z][a-z-]{0,31}")


class ApiToken(msgspec.Struct, frozen=True):
    """An API token without its secret part; `expires` and `used` are 0 for never.

    `used` is rounded down to the hour.
    """

    id: str
    account: Account
    name: str
    prefix: str
    scopes: tuple[str, ...]
    created: int
    expires: int
    used: int


class NewToken(msgspec.Struct, frozen=True):
    """A new API token with its secret, which is shown once and not stored."""

    token: str
    api_token: ApiToken


class ApiTokens:
    """Create, resolve and revoke the API tokens of a house."""

    def __init__(self, context: IdentityContext) -> None:
        self._context = context
        self._cache = TokenCache[ApiToken](self._read)
        self._used: dict[str, int] = {}
        context.access_changes.subscribe(self._cache.invalidate)
        context.poll_hooks.append(self.write_last_used)

    @transactional
    def create(
        self,
        run: Transaction,
        account: str,
        name: str,
        scopes: Iterable[str],
        *,
        seconds: int | None = None,
        by: str = CONSOLE,
        session: str = "",
    ) -> NewToken:
        """Create a token for an account; it expires after `seconds`, or never.

        If it is created in a session, that must not have ended, as a reset of the password ends it.
        """
        name, scope_list = validate_text("a token's name", name, 64), _join_scopes(scopes)
        if seconds is not None and seconds <= 0:
            raise InvalidInput("the lifetime of a token is a number of seconds above zero")
        if not fetch_account(run, account).enabled:
            raise AccountRefused("disabled", "this account is disabled")
        if session and not run("SELECT 1 FROM people_sessions WHERE id = ?", (session,)):
            raise SessionRefused("ended")
        _check_count(run, account, run.now)
        expires = 0 if seconds is None else run.now + seconds * SECOND
        id_, prefix = new_id(), TOKEN_PREFIX + secrets.token_hex(4)
        token = f"{prefix}_{secrets.token_urlsafe(32)}"
        row = {
            "id": id_,
            "digest": hash_token(token),
            "prefix": prefix,
            "account": account,
            "name": name,
            "scopes": scope_list,
            "created": run.now,
            "expires": expires,
            "used": 0,
        }
        run.insert(schema.tokens, row)
        detail = f"{prefix} for {scope_list}"
        record_security_event(run, "token-made", account, by, detail=detail)
        return NewToken(token, _parse_token(run(f"{_SELECT_TOKEN} WHERE t.id = ?", (id_,))[0]))

    def check_count(self, account: str) -> None:
        """Refuse a further token to an account that has as many live ones as it may have."""
        _check_count(self._context.database.query, account, self._context.clock())

    def resolve(self, token: str) -> ApiToken | None:
        """Resolve a token, or return None if it is unknown, expired or of a disabled account."""
        if not token.startswith(TOKEN_PREFIX) or len(token) > MAX_TOKEN_CHARACTERS:
            return None
        now = self._context.clock()
        self._context.poll_if_stale(now)
        digest, epoch = hash_token(token), self._cache.epoch
        found = self._cache.get(digest) or self._cache.load(digest)
        if found is None or not found.account.enabled or 0 < found.expires <= now:
            return None
        if (hour := now - now % HOUR) > found.used:
            found = msgspec.structs.replace(found, used=hour)
            self._cache.put(digest, found, epoch)
            self._used[found.id] = hour
        return found

    def list_for_account(self, account: str) -> list[ApiToken]:
        """Return the tokens of an account, sorted by name."""
        rows = self._context.database.query(f"{_SELECT_TOKEN} WHERE t.account = ?", (account,))
        return sorted(map(_parse_token, rows), key=lambda token: token.name)

    @transactional
    def revoke(self, run: Transaction, token_id: str, *, by: str = CONSOLE) -> None:
        """Revoke a token by its id."""
        for token in run.delete(schema.tokens, id=token_id):
            account, prefix = token["account"], token["prefix"]
            publish_access_change(run, account, "ended", token_id)
            record_security_event(run, "token-revoked", account, by, detail=prefix)
            return
        raise RecordNotFound("token", token_id)

    def write_last_used(self) -> None:
        """Write to the database the hours in which tokens were last used."""
        if not self._used:
            return
        due = self._used.copy()

        def work(run: SqlRunner) -> None:
            for id_, used in due.items():
                sql = "UPDATE people_tokens SET used = ? WHERE id = ? AND used < ?"
                run(sql, (used, id_, used))

        self._context.database.transact(work, durable=False)
        for id_, used in due.items():
            if self._used.get(id_) == used:
                del self._used[id_]

    def _read(self, digest: bytes) -> ApiToken | None:
        rows = self._context.database.query(f"{_SELECT_TOKEN} WHERE t.digest = ?", (digest,))
        return _parse_token(rows[0]) if rows else None


def _check_count(query: SqlRunner, account: str, now: int) -> None:
    """Refuse a further token to an account that has as many live ones as it may have."""
    live = "SELECT count(*) FROM people_tokens WHERE account = ? AND (expires = 0 OR expires > ?)"
    ((count,),) = query(live, (account, now))
    if count >= MAX_TOKENS_PER_ACCOUNT:
        limit = f"an account has {MAX_TOKENS_PER_ACCOUNT} API tokens at most"
        raise AccountRefused("tokens", f"{limit}; revoke one first")


_SELECT_TOKEN: Final = (
    f"SELECT {ACCOUNT_COLUMNS}, t.id, t.name, t.prefix, t.scopes, t.created, t.expires, t.used"
    " FROM people_tokens t JOIN people_accounts a ON a.id = t.account"
)


def _parse_token(row: SqlRow) -> ApiToken:
    id_, name, prefix, scopes, created, expires, used = row[5:]
    return ApiToken(
        id_, parse_account(row[:5]), name, prefix, tuple(scopes.split(",")), created, expires, used
    )


def _join_scopes(scopes: Iterable[str]) -> str:
    """Return valid scopes in the form they are stored in."""
    unique = sorted(set(scopes))
    if not unique or not all(map(_SCOPE.fullmatch, unique)):
        raise InvalidInput("a token needs at least one scope, such as read, play or deal")
    return ",".join(unique)


# --- shared with sessions ------------------------------------------------------------------------


def hash_token(token: str) -> bytes:
    """Return the SHA-256 of a session token or API token, which is stored instead of it."""
    return sha256(token[: MAX_TOKEN_CHARACTERS + 1].encode(errors="surrogatepass")).digest()


class Credential(Protocol):
    """A session or an API token."""

    @property
    def id(self) -> str:
        """The id of the session or API token."""

    @property
    def account(self) -> Account:
        """The account that it acts for."""


CredentialT = TypeVar("CredentialT", bound=Credential)


class TokenCache(Generic[CredentialT]):
    """Sessions or API tokens by the hash of their token, until an access change affects them.

    `read` reads one from the database; `before_clear` runs before a full cache is cleared.
    """

    def __init__(
        self,
        read: Callable[[bytes], CredentialT | None],
        before_clear: Callable[[], None] = lambda: None,
    ) -> None:
        self._read, self._before_clear = read, before_clear
        self._entries: dict[bytes, CredentialT] = {}
        self._lock = Lock()
        self.epoch = 0
        """Number of invalidations; an entry read before one of them is not stored after it."""

    def get(self, digest: bytes) -> CredentialT | None:
        """Return the entry of a token hash, if it is cached."""
        return self._entries.get(digest)

    def load(self, digest: bytes) -> CredentialT | None:
        """Read an entry from the database into the cache."""
        if len(self._entries) >= MAX_CACHED_TOKENS:
            self._before_clear()
            with self._lock:
                self.epoch += 1
                self._entries = {}
        epoch = self.epoch
        credential = self._read(digest)
        if credential is not None:
            self.put(digest, credential, epoch)
        return credential

    def put(self, digest: bytes, credential: CredentialT, epoch: int) -> None:
        """Store an entry that was read at an epoch, unless there was a change since."""
        with self._lock:
            if epoch == self.epoch:
                self._entries[digest] = credential

    def values(self) -> list[CredentialT]:
        """Return all entries."""
        with self._lock:
            return list(self._entries.values())

    def invalidate(self, change: AccessChange) -> None:
        """Remove the entries that a change affects."""
        with self._lock:
            self.epoch += 1
            self._entries = {
                digest: credential
                for digest, credential in self._entries.items()
                if not _is_affected(change, credential)
            }


def _is_affected(change: AccessChange, credential: Credential) -> bool:
    if change.account not in ("", credential.account.id):
        return False
    return change.session in ("", credential.id)
