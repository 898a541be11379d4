"""A request for every operation, which succeeds for the permitted roles."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any

import msgspec
import pyotp

from tests.api.house_app import HOUR
from tests.api.test_approvals import new_limits
from tests.identity.identity_cluster import PASSWORD, add_account
from threedice.facts import APPROVERS
from threedice.table import commands
from threedice.table.commands import Actor
from threedice.table.limits import TableLimits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tests.api.house_app import HouseApp

_numbers = count(1)


@dataclass
class OperationRequest:
    """The parts of a request and the session token it is sent with."""

    token: str
    path: dict[str, Any] = field(default_factory=dict)
    body: Any = None
    query: dict[str, Any] = field(default_factory=dict)
    key: str = ""


class RequestBuilder:
    """Builds requests, and creates what each of them needs, such as an account to disable.

    Operation `sign-in` has the method `sign_in`; one that needs nothing is built by `plain`.
    """

    def __init__(self, house: HouseApp) -> None:
        self.house, self.identity = house, house.identity

    def build(self, operation: str, role: str) -> OperationRequest:
        """Build a request for an operation by an account in a role."""
        name = operation.replace("-", "_")
        method: Callable[[str], OperationRequest] = getattr(self, name, self.plain)
        return method(role)

    # --- accounts and sessions

    def session(self, account: str) -> str:
        signed_in = self.identity.context.transact(
            lambda run: self.identity.sessions.create(run, account)
        )
        return signed_in.token

    def token(self, role: str) -> str:
        """Open a session of the account that is named after a role."""
        return self.session(self.house.id(role)) if role else ""

    def new_account(self, role: str) -> str:
        name = f"newcomer{next(_numbers)}"
        return add_account(self.identity, name, role).id

    def _enrolment(self, account: str) -> str:
        """Return the pending enrolment of an account."""
        pending = self.identity.enrolments.pending()
        return next(each.id for each in pending if each.account == account)

    def new_session(self, role: str) -> str:
        """Open a session of a new account."""
        return self.session(self.new_account(role))

    # --- requests

    def plain(self, role: str) -> OperationRequest:
        path = {
            "table": "1",
            "player": self.house.id("player"),
            "round": 1,
            "piece": "bell-1",
            "book": "sg-rws-tai-sai-v6",
            "layout": "a",
            "key": "anything",
        }
        return OperationRequest(self.token(role), path)

    def find_players(self, role: str) -> OperationRequest:
        return OperationRequest(self.token(role), query={"search": "name"})

    def sign_in(self, role: str) -> OperationRequest:
        body = {"name": "player-name", "password": PASSWORD}
        return OperationRequest(self.token(role), body=body)

    def sign_out(self, role: str) -> OperationRequest:
        return OperationRequest(self.new_session(role))

    lock = sign_out

    def unlock(self, role: str) -> OperationRequest:
        return OperationRequest(self.new_session(role), body={"password": PASSWORD})

    def change_password(self, role: str) -> OperationRequest:
        body = {"old": PASSWORD, "new": "another long and quiet river"}
        return OperationRequest(self.new_session(role), body=body)

    def begin_codes(self, role: str) -> OperationRequest:
        return OperationRequest(self.new_session(role), body={"password": PASSWORD})

    def confirm_codes(self, role: str) -> OperationRequest:
        token = self.new_session(role)
        return OperationRequest(token, body={"code": self._enrolment_code(token)})

    def _enrolment_code(self, token: str) -> str:
        return pyotp.TOTP(
            self.identity.second_factors.begin_enrolment(token, password=PASSWORD).secret
        ).now()

    def renew_recovery_codes(self, role: str) -> OperationRequest:
        token = self.new_session(role)
        enrolled = self.identity.second_factors.confirm_enrolment(
            token, self._enrolment_code(token)
        )
        body = {"password": PASSWORD, "code": enrolled.recovery_codes[0]}
        return OperationRequest(enrolled.issued_session.token, body=body)

    def end_session(self, role: str) -> OperationRequest:
        account = self.new_account(role)
        token, other = self.session(account), self.session(account)
        session = self.identity.sessions.require_state(other, "open").id
        return OperationRequest(token, {"session": session})

    def make_token(self, role: str) -> OperationRequest:
        body = {"name": "board", "scopes": ["read"], "password": PASSWORD}
        return OperationRequest(self.new_session(role), body=body)

    def revoke_token(self, role: str) -> OperationRequest:
        account = self.new_account(role)
        made = self.identity.tokens.create(account, "board", ["read"])
        return OperationRequest(self.session(account), {"token": made.api_token.id})

    def send_command(self, role: str) -> OperationRequest:
        player = self.house.id("player")
        body: dict[str, Any] = {"type": "FillFloat", "amount": 5}
        if role == "player":
            body = {"type": "PlaceBet", "player": player, "box": "big", "amount": 5}
        if role == "dealer":
            body = {"type": "ChangeChips", "player": player, "amount": 5, "into": 5}
        return OperationRequest(self.token(role), {"table": "1"}, body, key=f"r{next(_numbers)}")

    def send_account_command(self, role: str) -> OperationRequest:
        player = self.new_account("player")
        body = {"type": "OpenAccount", "currency": "SGD", "player": player}
        return OperationRequest(
            self.token(role), {"player": player}, body, key=f"r{next(_numbers)}"
        )

    def open_request(self, role: str) -> OperationRequest:
        amend = {"type": "AmendResult", "dice": [1, 2, 3]}
        command = amend if role == "game-supervisor" else new_limits()
        body = {"command": command, "reason": "a quiet night"}
        return OperationRequest(self.token(role), {"table": "1"}, body)

    def open_account_request(self, role: str) -> OperationRequest:
        body = {"command": {"type": "Deposit", "amount": 10**7}, "reason": "counted"}
        return OperationRequest(self.token(role), {"player": self.house.id("player")}, body)

    def _request(self, by: str, roles: Iterable[str] = APPROVERS) -> str:
        """Open a request by an account that is named after a role, for others in `roles`."""
        limits = msgspec.convert(new_limits()["limits"], TableLimits)
        actor = Actor(id=self.house.id(by), role=by)  # type: ignore[arg-type]
        command = msgspec.to_builtins(
            commands.SetLimits(by=actor, limits=limits, approved_by=actor)
        )
        del command["approved_by"]
        approval = self.identity.approvals.open(
            self.house.id(by),
            "1",
            msgspec.json.encode(command),
            "why",
            roles=roles,
        )
        return approval.id

    def approve_request(self, role: str) -> OperationRequest:
        return OperationRequest(self.token(role), {"request": self._request("dealer")}, {})

    decline_request = approve_request

    def show_request(self, role: str) -> OperationRequest:
        return OperationRequest(self.token(role), {"request": self._request("dealer")})

    def show_request_effect(self, role: str) -> OperationRequest:
        request = self._request("dealer", commands.SetLimits.facts.approvers)
        return OperationRequest(self.token(role), {"request": request})

    def withdraw_request(self, role: str) -> OperationRequest:
        return OperationRequest(self.token(role), {"request": self._request(role)})

    def explain_bets(self, role: str) -> OperationRequest:
        query = {} if role == "player" else {"player": self.house.id("player")}
        return OperationRequest(self.token(role), {"table": "1", "round": 1}, query=query)

    def judge_mix(self, role: str) -> OperationRequest:
        request = self.plain(role)
        request.body = {"stakes": {"big": 10, "total:10": 5}}
        return request

    def set_person(self, role: str) -> OperationRequest:
        request = self.plain(role)
        request.body = {"name": "Ann", "born": "1990-01-31"}
        return request

    def show_person(self, role: str) -> OperationRequest:
        store = self.house.store
        store.set_person(self.house.id("player"), b'{"name":"Ann","born":null}')
        return self.plain(role)

    erase_person = show_person

    def release_house(self, role: str) -> OperationRequest:
        self.house.handler.streams.writer.suspend("the disk is full")
        return OperationRequest(self.token(role), body={"reason": "looked at"})

    def add_person(self, role: str) -> OperationRequest:
        body = {"name": f"added{next(_numbers)}", "roles": ["player"]}
        return OperationRequest(self.token(role), body=body)

    def confirm_enrolment(self, role: str) -> OperationRequest:
        other, name = self.new_account("administrator"), f"newcomer{next(_numbers)}"
        asked = self.identity.accounts.add(name, ["dealer"], password=PASSWORD, by=other)
        return OperationRequest(self.token(role), {"enrolment": self._enrolment(asked.account.id)})

    decline_enrolment = confirm_enrolment

    def set_roles(self, role: str) -> OperationRequest:
        self.new_account("administrator")  # who could confirm it
        person = self.new_account("dealer")
        return OperationRequest(
            self.token(role), {"person": person}, {"roles": ["dealer", "supervisor"]}
        )

    def _for_new_account(self, role: str) -> OperationRequest:
        return OperationRequest(self.token(role), {"person": self.new_account("dealer")})

    def set_birth_date(self, role: str) -> OperationRequest:
        person = self.new_account("dealer")
        return OperationRequest(self.token(role), {"person": person}, {"born": "1990-01-31"})

    show_birth_date = disable_person = enable_person = forget_person = _for_new_account
    reset_password = reset_codes = end_all_sessions = _for_new_account

    def assign(self, role: str) -> OperationRequest:
        now = self.identity.context.clock()
        body = {
            "account": self.new_account("dealer"),
            "role": "dealer",
            "table": "1",
            "starts": now,
            "until": now + HOUR,
        }
        return OperationRequest(self.token(role), body=body)

    def end_assignment(self, role: str) -> OperationRequest:
        now, person = self.identity.context.clock(), self.new_account("dealer")
        made = self.identity.assignments.add(person, "1", "dealer", starts=now, until=now + HOUR)
        return OperationRequest(self.token(role), {"assignment": made.id})

    def add_display(self, role: str) -> OperationRequest:
        return OperationRequest(self.token(role), body={"table": "1", "label": "north wall"})

    def revoke_display(self, role: str) -> OperationRequest:
        added = self.identity.displays.add("1", "north wall")
        return OperationRequest(self.token(role), {"display": added.display.id})

    def sign_in_display(self, role: str) -> OperationRequest:
        added = self.identity.displays.add("1", "north wall")
        return OperationRequest(self.token(role), body={"token": added.token})
