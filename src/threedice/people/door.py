"""The door: signing in, unlocking, and choosing another password.

A token is new whenever somebody comes to be allowed more than before; none is ever taken from
whoever asks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from threedice.people import totp
from threedice.people.errors import PasswordRefused, SignInRefused
from threedice.people.names import sought
from threedice.people.passwords import check_password
from threedice.people.sessions import SignedIn, end_by_token
from threedice.people.trail import note

if TYPE_CHECKING:
    from threedice.people.database import Run
    from threedice.people.records import Records
    from threedice.people.sessions import Sessions
    from threedice.people.tries import Tries, Try


class Door:
    """Lets people in."""

    def __init__(self, records: Records, sessions: Sessions, tries: Tries) -> None:
        self._records, self._sessions, self._tries = records, sessions, tries

    def sign_in(
        self,
        name: str,
        password: str,
        *,
        code: str = "",
        address: str = "",
        replacing: str = "",
    ) -> SignedIn:
        """Begin a session for whoever knows a password, and has a code where that is needed.

        `replacing` is the token that the browser brought along: that session ends.
        """
        tried = self._tries.begin("name", sought(name), address)
        with self._tries.failing(tried):
            self._tries.check_password(tried, password)
            needs_code = totp.is_enrolled(self._records.database.rows, tried.account)
            if needs_code and not code:
                self._tries.give_back(tried)
                raise SignInRefused("code-needed")
            renewed = self._renewed(tried, password)

            def work(run: Run) -> SignedIn:
                self._tries.check_unchanged(run, tried)
                if totp.is_enrolled(run, tried.account):
                    self._tries.use_code(run, tried, code)
                self._tries.let_through(run, tried)
                end_by_token(run, replacing, tried.at)
                if renewed:
                    sql = "UPDATE people_accounts SET password = ? WHERE id = ?"
                    run(sql, (renewed, tried.account))
                note(run, tried.at, "signed-in", tried.account, tried.account, source=tried.source)
                return self._sessions.begin(run, tried.account, tried.at)

            return self._records.change(work)

    def unlock(
        self, token: str, *, password: str = "", code: str = "", address: str = ""
    ) -> SignedIn:
        """Have a locked session go on under a new token, for its password or a code of it."""
        session = self._sessions.standing(token, "open", "locked")
        tried = self._tries.begin("id", session.account.id, address)
        with self._tries.failing(tried, "unlock-failed"):
            if password or not code:
                self._tries.check_password(tried, password)

            def work(run: Run) -> SignedIn:
                found = self._sessions.find(run, token, tried.at)
                self._tries.check_unchanged(run, tried)
                if not password:
                    self._tries.use_code(run, tried, code)
                self._tries.let_through(run, tried)
                note(run, tried.at, "unlocked", tried.account, tried.account, source=tried.source)
                return self._sessions.rotate(run, found.id, tried.at)

            return self._records.change(work)

    def change_password(self, token: str, old: str, new: str, *, address: str = "") -> SignedIn:
        """Choose another password; this session goes on under a new token, all others end."""
        session = self._sessions.standing(token, "open", "new-password", "enrolment")
        check_password(new, session.account.name, session.account.roles)
        if new == old:
            raise PasswordRefused("same", "this is the password there is; choose another")
        tried = self._tries.begin("id", session.account.id, address)
        with self._tries.failing(tried):
            self._tries.check_password(tried, old)
            hashed = self._records.passwords.hash(new)

            def work(run: Run) -> SignedIn:
                found = self._sessions.find(run, token, tried.at)
                self._tries.check_unchanged(run, tried)
                self._tries.let_through(run, tried)
                sql = "UPDATE people_accounts SET password = ?, first_until = 0 WHERE id = ?"
                run(sql, (hashed, tried.account))
                self._sessions.end_others(run, tried.account, found.id)
                who = tried.account
                note(run, tried.at, "password-changed", who, who, source=tried.source)
                return self._sessions.rotate(run, found.id, tried.at)

            return self._records.change(work)

    def _renewed(self, tried: Try, password: str) -> str:
        """Return a new hash of a right password, where the kept one is of another cost."""
        passwords = self._records.passwords
        if tried.kept is None or not passwords.is_outdated(tried.kept):
            return ""
        return passwords.hash(password)
