"""Display tokens: a results board signs in with one, to show one table and nothing else.

A display is owned by no person, so that a board keeps running when people leave. Its token does not
expire; it is shown once, stored as its SHA-256, and can be revoked at any time.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Final

import msgspec

from threedice.errors import InvalidInput
from threedice.identity.access_changes import publish_access_change, transactional
from threedice.identity.accounts import Account, new_id, validate_text
from threedice.identity.audit_trail import CONSOLE, record_security_event
from threedice.identity.authentication.tokens import MAX_TOKEN_CHARACTERS, TokenCache, hash_token
from threedice.identity.errors import RecordNotFound
from threedice.log.stores import schema

if TYPE_CHECKING:
    from threedice.identity.access_changes import IdentityContext, Transaction

DISPLAY_PREFIX: Final = "tdd_"
MAX_DISPLAYS: Final = 1000

_SELECT_DISPLAY: Final = "SELECT id, place, label, prefix, created, made_by FROM people_displays"


class Display(msgspec.Struct, frozen=True):
    """A results board that may show one table; `made_by` is the account that added it."""

    id: str
    table: str
    label: str
    prefix: str
    created: int
    made_by: str

    @property
    def account(self) -> Account:
        """The display as an account without roles, so that limits apply to it."""
        return Account(self.id, self.label, (), True, self.created)


class NewDisplay(msgspec.Struct, frozen=True):
    """A new display with its token, which is shown once and not stored."""

    token: str
    display: Display


class Displays:
    """Add, resolve and revoke the displays of a house."""

    def __init__(self, context: IdentityContext) -> None:
        self._context = context
        self._cache = TokenCache[Display](self._read)
        context.access_changes.subscribe(self._cache.invalidate)

    @transactional
    def add(self, run: Transaction, table: str, label: str, *, by: str = CONSOLE) -> NewDisplay:
        """Add a display for a table."""
        table = validate_text("a table's id", table, 100)
        label = validate_text("a label", label, 64)
        ((count,),) = run("SELECT count(*) FROM people_displays")
        if count >= MAX_DISPLAYS:
            raise InvalidInput(f"a house has at most {MAX_DISPLAYS} displays; revoke one first")
        id_, prefix = new_id(), DISPLAY_PREFIX + secrets.token_hex(4)
        token = f"{prefix}_{secrets.token_urlsafe(32)}"
        display = Display(id_, table, label, prefix, run.now, by)
        row = {
            "id": id_,
            "digest": hash_token(token),
            "prefix": prefix,
            "place": table,
            "label": label,
            "created": run.now,
            "made_by": by,
        }
        run.insert(schema.displays, row)
        record_security_event(run, "display-added", "", by, detail=f"{prefix} for {table}")
        return NewDisplay(token, display)

    def resolve(self, token: str) -> Display | None:
        """Resolve a token, or return None if it is unknown or revoked."""
        if not token.startswith(DISPLAY_PREFIX) or len(token) > MAX_TOKEN_CHARACTERS:
            return None
        self._context.poll_if_stale(self._context.clock())
        digest = hash_token(token)
        return self._cache.get(digest) or self._cache.load(digest)

    def all(self) -> list[Display]:
        """Return all displays, sorted by table and label."""
        rows = self._context.database.query(_SELECT_DISPLAY)
        displays = [Display(*row) for row in rows]
        return sorted(displays, key=lambda display: (display.table, display.label))

    @transactional
    def revoke(self, run: Transaction, display: str, *, by: str = CONSOLE) -> None:
        """Revoke a display by its id; its sockets close."""
        for revoked in run.delete(schema.displays, id=display):
            publish_access_change(run, display, "ended", display)
            detail = f"{revoked['prefix']} for {revoked['place']}"
            record_security_event(run, "display-revoked", "", by, detail=detail)
            return
        raise RecordNotFound("display", display)

    def _read(self, digest: bytes) -> Display | None:
        rows = self._context.database.query(f"{_SELECT_DISPLAY} WHERE digest = ?", (digest,))
        return Display(*rows[0]) if rows else None
