"""A request for every operation, meant to succeed for the roles that are allowed."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any

import msgspec
import pyotp

from tests.api.setting import HOUR
from tests.api.test_approvals import new_limits
from tests.identity.identity_cluster import PASSWORD
from threedice.table import commands
from threedice.table.commands import Actor
from threedice.table.limits import TableLimits

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.api.setting import Setting

_numbers = count(1)


@dataclass
class Recipe:
    """The parts of a request, and whose session it is made in."""

    token: str
    path: dict[str, Any] = field(default_factory=dict)
    body: Any = None
    query: dict[str, Any] = field(default_factory=dict)
    key: str = ""


class Cook:
    """Makes what a request needs, such as somebody to disable, anew each time."""

    def __init__(self, setting: Setting) -> None:
        self.setting, self.people = setting, setting.people

    def make(self, operation: str, role: str) -> Recipe:
        """Return a request for an operation, by somebody in a role."""
        recipe: Callable[[str], Recipe] = getattr(self, operation.replace("-", "_"), self.plain)
        return recipe(role)

    # who asks

    def session(self, account: str) -> str:
        signed_in = self.people.context.transact(
            lambda run: self.people.sessions.create(run, account)
        )
        return signed_in.token

    def token(self, role: str) -> str:
        """Return a session of the one who is always in a role."""
        return self.session(self.setting.id(role)) if role else ""

    def newcomer(self, role: str) -> str:
        name = f"newcomer{next(_numbers)}"
        return self.people.accounts.add(name, [role], password=PASSWORD).account.id

    def fresh(self, role: str) -> str:
        """Return a session of somebody who is there for this once."""
        return self.session(self.newcomer(role))

    # what is asked

    def plain(self, role: str) -> Recipe:
        path = {
            "table": "1",
            "player": self.setting.id("player"),
            "round": 1,
            "book": "sg-rws-tai-sai-v6",
            "layout": "a",
            "key": "anything",
        }
        return Recipe(self.token(role), path)

    def sign_in(self, role: str) -> Recipe:
        body = {"name": "player-name", "password": PASSWORD}
        return Recipe(self.token(role), body=body)

    def sign_out(self, role: str) -> Recipe:
        return Recipe(self.fresh(role))

    lock = sign_out

    def unlock(self, role: str) -> Recipe:
        return Recipe(self.fresh(role), body={"password": PASSWORD})

    def change_password(self, role: str) -> Recipe:
        body = {"old": PASSWORD, "new": "another long and quiet river"}
        return Recipe(self.fresh(role), body=body)

    def begin_codes(self, role: str) -> Recipe:
        return Recipe(self.fresh(role), body={"password": PASSWORD})

    def confirm_codes(self, role: str) -> Recipe:
        token = self.fresh(role)
        return Recipe(token, body={"code": self._shown(token)})

    def _shown(self, token: str) -> str:
        return pyotp.TOTP(
            self.people.second_factors.begin_enrolment(token, password=PASSWORD).secret
        ).now()

    def renew_recovery_codes(self, role: str) -> Recipe:
        token = self.fresh(role)
        enrolled = self.people.second_factors.confirm_enrolment(token, self._shown(token))
        body = {"password": PASSWORD, "code": enrolled.recovery_codes[0]}
        return Recipe(enrolled.issued_session.token, body=body)

    def end_session(self, role: str) -> Recipe:
        account = self.newcomer(role)
        token, other = self.session(account), self.session(account)
        session = self.people.sessions.require_state(other, "open").id
        return Recipe(token, {"session": session})

    def make_token(self, role: str) -> Recipe:
        body = {"name": "board", "scopes": ["read"], "password": PASSWORD}
        return Recipe(self.fresh(role), body=body)

    def revoke_token(self, role: str) -> Recipe:
        account = self.newcomer(role)
        made = self.people.tokens.create(account, "board", ["read"])
        return Recipe(self.session(account), {"token": made.api_token.id})

    def send_command(self, role: str) -> Recipe:
        player = self.setting.id("player")
        body: dict[str, Any] = {"type": "FillFloat", "amount": 5}
        if role == "player":
            body = {"type": "PlaceBet", "player": player, "box": "big", "amount": 5}
        if role == "dealer":
            body = {"type": "ChangeChips", "player": player, "amount": 5, "into": 5}
        return Recipe(self.token(role), {"table": "1"}, body, key=f"r{next(_numbers)}")

    def send_account_command(self, role: str) -> Recipe:
        player = self.newcomer("player")
        body = {"type": "OpenAccount", "currency": "SGD", "player": player}
        return Recipe(self.token(role), {"player": player}, body, key=f"r{next(_numbers)}")

    def open_request(self, role: str) -> Recipe:
        body = {"command": new_limits(), "reason": "a quiet night"}
        return Recipe(self.token(role), {"table": "1"}, body)

    def _request(self, by: str) -> str:
        limits = msgspec.convert(new_limits()["limits"], TableLimits)
        actor = Actor(id=self.setting.id(by), role=by)  # type: ignore[arg-type]
        command = msgspec.to_builtins(
            commands.SetLimits(by=actor, limits=limits, approved_by=actor)
        )
        del command["approved_by"]
        opened = self.people.approvals.open(
            self.setting.id(by),
            "1",
            msgspec.json.encode(command),
            "why",
            roles=("supervisor", "pit-manager", "shift-manager"),
        )
        return opened.id

    def approve_request(self, role: str) -> Recipe:
        return Recipe(self.token(role), {"request": self._request("dealer")}, {})

    decline_request = approve_request

    def show_request(self, role: str) -> Recipe:
        return Recipe(self.token(role), {"request": self._request("dealer")})

    def withdraw_request(self, role: str) -> Recipe:
        return Recipe(self.token(role), {"request": self._request(role)})

    def explain_bets(self, role: str) -> Recipe:
        query = {} if role == "player" else {"player": self.setting.id("player")}
        return Recipe(self.token(role), {"table": "1", "round": 1}, query=query)

    def judge_mix(self, role: str) -> Recipe:
        recipe = self.plain(role)
        recipe.body = {"stakes": {"big": 10, "total:10": 5}}
        return recipe

    def set_person(self, role: str) -> Recipe:
        recipe = self.plain(role)
        recipe.body = {"name": "Ann", "born": "1990-01-31"}
        return recipe

    def show_person(self, role: str) -> Recipe:
        store = self.setting.context.house.command_handler.store
        store.set_person(self.setting.id("player"), b'{"name":"Ann","born":null}')
        return self.plain(role)

    erase_person = show_person

    def release_house(self, role: str) -> Recipe:
        self.setting.context.house.command_handler.streams.writer.suspend("tried")
        return Recipe(self.token(role), body={"reason": "looked at"})

    def add_person(self, role: str) -> Recipe:
        body = {"name": f"added{next(_numbers)}", "roles": ["player"]}
        return Recipe(self.token(role), body=body)

    def set_roles(self, role: str) -> Recipe:
        person = self.newcomer("dealer")
        return Recipe(self.token(role), {"person": person}, {"roles": ["dealer", "supervisor"]})

    def _about_newcomer(self, role: str) -> Recipe:
        return Recipe(self.token(role), {"person": self.newcomer("dealer")})

    disable_person = enable_person = forget_person = _about_newcomer
    reset_password = reset_codes = end_all_sessions = _about_newcomer

    def assign(self, role: str) -> Recipe:
        now = self.people.context.clock()
        body = {
            "account": self.newcomer("dealer"),
            "role": "dealer",
            "table": "1",
            "starts": now,
            "until": now + HOUR,
        }
        return Recipe(self.token(role), body=body)

    def end_assignment(self, role: str) -> Recipe:
        now, person = self.people.context.clock(), self.newcomer("dealer")
        made = self.people.assignments.add(person, "1", "dealer", starts=now, until=now + HOUR)
        return Recipe(self.token(role), {"assignment": made.id})
