"""Setting up codes, replacing them, and getting new ones on paper."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from threedice.people import totp
from threedice.people.accounts import end_sessions, fetch
from threedice.people.errors import SessionRefused
from threedice.people.names import CONSOLE
from threedice.people.sessions import SignedIn
from threedice.people.trail import note
from threedice.people.tries import Wrong

if TYPE_CHECKING:
    from threedice.people.database import Run
    from threedice.people.records import Records
    from threedice.people.sessions import Sessions
    from threedice.people.totp import Enrolment
    from threedice.people.tries import Tries


class Enrolled(msgspec.Struct, frozen=True):
    """A session that goes on with codes in use, and recovery codes that are shown once."""

    signed_in: SignedIn
    recovery_codes: tuple[str, ...]


class Codes:
    """The codes that people have beside their passwords."""

    def __init__(self, records: Records, sessions: Sessions, tries: Tries) -> None:
        self._records, self._sessions, self._tries = records, sessions, tries

    def are_set_up(self, account: str) -> bool:
        """Tell whether an account has codes in use."""
        return totp.is_enrolled(self._records.database.rows, account)

    def begin(
        self, token: str, *, password: str = "", code: str = "", address: str = ""
    ) -> Enrolment:
        """Make a secret for a telephone, for the password; where codes are in use, also for one.

        Who has just signed in to set them up has said his password.
        """
        session = self._sessions.standing(token, "open", "enrolment")
        account = session.account
        if self.are_set_up(account.id):
            self._prove(account.id, password, code, address)
        elif session.standing == "open":
            self._prove_password(account.id, password, address)
        key, issuer = self._records.key, self._records.policy.issuer

        def work(run: Run) -> Enrolment:
            return totp.begin(run, key, account.id, account.name, issuer)

        return self._records.change(work)

    def confirm(self, token: str, code: str, *, address: str = "") -> Enrolled:
        """Put codes into use with the first of them; the session goes on under a new token."""
        account = self._sessions.standing(token, "open", "enrolment").account.id
        if not totp.is_begun(self._records.database.rows, account):
            raise SessionRefused("not-begun")
        tried = self._tries.begin("id", account, address)

        def work(run: Run) -> Enrolled:
            session = self._sessions.find(run, token, tried.at)
            codes = totp.confirm(run, self._records.key, account, code, tried.at)
            if codes is None:
                raise Wrong("code")
            self._tries.let_through(run, tried)
            self._sessions.end_others(run, account, session.id)
            note(run, tried.at, "code-set-up", account, account, source=tried.source)
            return Enrolled(self._sessions.rotate(run, session.id, tried.at), tuple(codes))

        with self._tries.failing(tried):
            return self._records.change(work)

    def new_recovery_codes(
        self, token: str, *, password: str, code: str, address: str = ""
    ) -> tuple[str, ...]:
        """Make ten recovery codes instead of those there were, for the password and a code."""
        account = self._sessions.standing(token, "open").account.id
        self._prove(account, password, code, address)
        now = self._records.clock()

        def work(run: Run) -> tuple[str, ...]:
            note(run, now, "recovery-codes-made", account, account)
            return tuple(totp.make_recovery_codes(run, self._records.key, account))

        return self._records.change(work)

    def reset(self, account: str, *, by: str = CONSOLE) -> None:
        """Forget the codes of somebody who lost them; all his sessions end."""
        now = self._records.clock()

        def work(run: Run) -> None:
            fetch(run, account)
            totp.remove(run, account)
            end_sessions(run, account)
            note(run, now, "code-reset", account, by)

        self._records.change(work)

    def _prove_password(self, account: str, password: str, address: str) -> None:
        """Refuse whoever only found a session open."""
        tried = self._tries.begin("id", account, address)

        def work(run: Run) -> None:
            self._tries.check_unchanged(run, tried)
            self._tries.let_through(run, tried)

        with self._tries.failing(tried):
            self._tries.check_password(tried, password)
            self._records.change(work)

    def _prove(self, account: str, password: str, code: str, address: str) -> None:
        """Refuse whoever has not both the password and a code of an account."""
        if not password or not code:
            raise SessionRefused("enrolled")
        tried = self._tries.begin("id", account, address)

        def work(run: Run) -> None:
            self._tries.check_unchanged(run, tried)
            self._tries.use_code(run, tried, code)
            self._tries.let_through(run, tried)

        with self._tries.failing(tried):
            self._tries.check_password(tried, password)
            self._records.change(work)
