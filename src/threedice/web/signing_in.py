"""Signing in and out, unlocking, passwords and codes.

A token is in a cookie that scripts cannot read, and is never in an answer. None is ever taken from
whoever signs in: it is made anew whenever he comes to be allowed more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import msgspec

from threedice.people import NoSuch, Role, Standing
from threedice.people.passwords import LONGEST
from threedice.web.answering import Operation, Visit, in_thread, in_turn, operation
from threedice.web.entering import cookie_of

if TYPE_CHECKING:
    from threedice.people import Session, SignedIn
    from threedice.web.context import Context

Password = Annotated[str, msgspec.Meta(max_length=LONGEST)]
Code = Annotated[str, msgspec.Meta(max_length=64)]
Words = Annotated[str, msgspec.Meta(max_length=256)]


class Credentials(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A name, a password, and a code where the account has codes."""

    name: Words
    password: Password
    code: Code = ""


class Proof(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A password, or a code; some things ask for both."""

    password: Password = ""
    code: Code = ""


class NewPassword(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The password there is, and the one to come."""

    old: Password
    new: Password


class OneCode(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A code."""

    code: Code


class Who(msgspec.Struct, frozen=True):
    """Somebody who has signed in, and what his session is good for."""

    account: str
    name: str
    roles: tuple[Role, ...]
    session: str
    standing: Standing
    created: int
    until: int
    tables: list[str] | None
    """The tables he works at now; nothing where his roles have the whole floor or none."""


class Enrolment(msgspec.Struct, frozen=True):
    """A secret for a telephone, as letters and as what a picture of it says; shown once."""

    secret: str
    uri: str


class RecoveryCodes(msgspec.Struct, frozen=True):
    """Codes for when the telephone is lost; shown once."""

    recovery_codes: tuple[str, ...]


# --- coming and going ---------------------------------------------------------------------------


@operation(
    "sign-in", "POST", "/api/session", body=Credentials, answer=Who, problems=(401, 429, 503)
)
async def sign_in(visit: Visit) -> Who:
    """Sign in with a name and a password, and a code where one is needed."""
    asked, context = visit.body, visit.context
    brought = cookie_of(visit.headers.get(b"cookie", b""), context.cookie)
    signed_in = await in_turn(
        context.hashing,
        context.people.door.sign_in,
        asked.name,
        asked.password,
        code=asked.code,
        address=visit.address,
        replacing=brought,
    )
    return welcomed(visit, signed_in)


@operation("show-session", "GET", "/api/session", answer=Who)
async def show_session(visit: Visit) -> Who:
    """Tell who has signed in, and what the session is good for."""
    session = visit.context.people.sessions.recognise(visit.token, touch=False)
    if session is None:
        raise NoSuch("session", visit.who.session)
    return _who(visit.context, session)


@operation("sign-out", "DELETE", "/api/session", status=204)
async def sign_out(visit: Visit) -> None:
    """Sign out; the session's cookie is worth nothing any more."""
    await in_thread(visit.context.people.sessions.sign_out, visit.token)
    visit.replying.append((b"set-cookie", _cookie(visit.context, "", gone=True)))


@operation("lock", "POST", "/api/session/lock", status=204)
async def lock(visit: Visit) -> None:
    """Lock the session, as somebody does who leaves his place."""
    await in_thread(visit.context.people.sessions.lock, visit.token)


@operation("unlock", "POST", "/api/session/unlock", body=Proof, answer=Who, problems=(401, 429))
async def unlock(visit: Visit) -> Who:
    """Unlock the session with the password or a code."""
    return welcomed(visit, await proved(visit, visit.body))


@operation(
    "change-password",
    "PUT",
    "/api/session/password",
    body=NewPassword,
    answer=Who,
    problems=(401, 429),
)
async def change_password(visit: Visit) -> Who:
    """Choose another password; all other sessions end."""
    asked, door = visit.body, visit.context.people.door
    signed_in = await in_turn(
        visit.context.hashing,
        door.change_password,
        visit.token,
        asked.old,
        asked.new,
        address=visit.address,
    )
    return welcomed(visit, signed_in)


# --- codes --------------------------------------------------------------------------------------


@operation(
    "begin-codes",
    "POST",
    "/api/session/codes",
    body=Proof,
    answer=Enrolment,
    problems=(401, 409, 429),
)
async def begin_codes(visit: Visit) -> Enrolment:
    """Begin to set up codes, for the password; where there are some, also for one of them."""
    asked, codes = visit.body, visit.context.people.codes
    made = await in_turn(
        visit.context.hashing,
        codes.begin,
        visit.token,
        password=asked.password,
        code=asked.code,
        address=visit.address,
    )
    return Enrolment(made.secret, made.uri)


@operation(
    "confirm-codes",
    "PUT",
    "/api/session/codes",
    body=OneCode,
    answer=RecoveryCodes,
    problems=(401, 409, 429),
)
async def confirm_codes(visit: Visit) -> RecoveryCodes:
    """Put codes into use with the first of them."""
    codes = visit.context.people.codes
    enrolled = await in_turn(
        visit.context.hashing,
        codes.confirm,
        visit.token,
        visit.body.code,
        address=visit.address,
    )
    welcomed(visit, enrolled.signed_in)
    return RecoveryCodes(enrolled.recovery_codes)


@operation(
    "renew-recovery-codes",
    "POST",
    "/api/session/recovery-codes",
    body=Proof,
    answer=RecoveryCodes,
    problems=(401, 409, 429),
)
async def renew_recovery_codes(visit: Visit) -> RecoveryCodes:
    """Make new recovery codes, for the password and a code."""
    asked, codes = visit.body, visit.context.people.codes
    made = await in_turn(
        visit.context.hashing,
        codes.new_recovery_codes,
        visit.token,
        password=asked.password,
        code=asked.code,
        address=visit.address,
    )
    return RecoveryCodes(made)


# --- what they share ----------------------------------------------------------------------------


async def proved(visit: Visit, proof: Proof) -> SignedIn:
    """Have whoever sits there prove again that it is he; the session goes on under a new token."""
    return await in_turn(
        visit.context.hashing,
        visit.context.people.door.unlock,
        visit.token,
        password=proof.password,
        code=proof.code,
        address=visit.address,
    )


def welcomed(visit: Visit, signed_in: SignedIn) -> Who:
    """Give whoever was let in his new cookie, and tell him who he is."""
    visit.replying.append((b"set-cookie", _cookie(visit.context, signed_in.token)))
    visit.token = signed_in.token
    return _who(visit.context, signed_in.session)


def _cookie(context: Context, token: str, *, gone: bool = False) -> bytes:
    """Return the session's cookie: for this host alone, and out of every script's reach."""
    secure = "; Secure" if context.secure else ""
    ends = "; Max-Age=0" if gone else ""
    return f"{context.cookie}={token}; Path=/; HttpOnly; SameSite=Strict{secure}{ends}".encode()


def _who(context: Context, session: Session) -> Who:
    account = session.account
    posts = context.posts.of(account.id)
    tables = sorted({post.table for post in posts if post.table is not None})
    return Who(
        account=account.id,
        name=account.name,
        roles=account.roles,
        session=session.id,
        standing=session.standing,
        created=session.created,
        until=session.until,
        tables=None if any(post.table is None for post in posts) or not posts else tables,
    )


SESSION_OPERATIONS: Final[tuple[Operation, ...]] = (
    sign_in,
    show_session,
    sign_out,
    lock,
    unlock,
    change_password,
    begin_codes,
    confirm_codes,
    renew_recovery_codes,
)
