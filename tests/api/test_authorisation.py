"""The permission matrix: every route and every command of the application, by every role."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, get_args

import pytest
from litestar.routes import HTTPRoute, WebSocketRoute

from tests.api.setting import EVERYBODY, opened, seat
from threedice.api.auth.authentication import Caller
from threedice.api.auth.authorisation import (
    ANYONE,
    COMMANDS,
    OPERATION_PERMISSIONS,
    SCOPES,
    audience_of,
    can_use,
    role_for,
)
from threedice.api.http.openapi import published_path
from threedice.house.commands import AnyAccountCommand, AnyStreamCommand, AnyTableCommand
from threedice.identity import ROLES

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx
    from litestar import Litestar

    from tests.api.setting import Setting

pytestmark = pytest.mark.anyio

PAGES = ("show-page", "show-asset")
TURNED_AWAY = {"door/role", "door/sign-in", "door/scope"}


def routes(app: Litestar) -> Iterator[tuple[str, str, str]]:
    """Yield method, address and name of what the application serves; its pages are for anybody."""
    for route in app.routes:
        if not isinstance(route, HTTPRoute):
            continue
        for handler in route.route_handlers:
            if handler.name in PAGES:
                continue
            for method in handler.http_methods:
                if method != "OPTIONS":
                    yield method, published_path(handler), handler.name or ""


def address(setting: Setting, path: str) -> str:
    """Return an address with something in its holes that may well exist."""
    holes: dict[str, Any] = {
        "table": "1", "player": setting.id("player"), "round": "1", "key": "k1", "request": "r1",
        "book": "sg-rws-tai-sai-v6", "layout": "a", "session": "s1", "token": "t1",
        "person": setting.id("other player"), "assignment": "a1",
    }  # fmt: skip
    return path.format_map(holes)


async def knock(setting: Setting, who: str, method: str, path: str) -> httpx.Response:
    client = setting.client(who)
    return await client.request(method, address(setting, path), json={})


def code(response: httpx.Response) -> str:
    kind = response.headers.get("content-type", "")
    return str(response.json()["code"]) if kind == "application/problem+json" else ""


async def test_permission_table_lists_exactly_the_routes_of_the_application() -> None:
    async with opened() as setting:
        served = {name for _, _, name in routes(setting.app)}
        sockets = {
            route.route_handler.name
            for route in setting.app.routes
            if isinstance(route, WebSocketRoute)
        }
        others = [
            route
            for route in setting.app.routes
            if not isinstance(route, HTTPRoute | WebSocketRoute)
        ]
    assert not others
    assert served | sockets == set(OPERATION_PERMISSIONS)


def test_every_command_declares_its_facts() -> None:
    for command in get_args(AnyStreamCommand):
        facts, fields = command.facts, set(command.__struct_fields__)
        named = {*facts.player_values, *facts.staff_values, facts.second_person} - {""}
        assert named <= fields, command
        assert not facts.own_player or "player" in fields, command


async def test_every_route_is_open_to_exactly_its_permitted_roles() -> None:
    async with opened() as setting:
        setting.assign("dealer")
        setting.assign("supervisor")
        for method, path, name in routes(setting.app):
            right = OPERATION_PERMISSIONS[name]
            setting.tokens.clear()  # some of them end sessions
            for who in ("", *ROLES):
                response = await knock(setting, who, method, path)
                allowed = ANYONE in right.roles or who in right.roles
                if name == "read-metrics":
                    allowed = True  # from this very machine
                seen = (name, who, response.status_code, response.text)
                if allowed:
                    assert code(response) not in TURNED_AWAY, seen
                    assert response.status_code < 500, seen
                else:
                    assert response.status_code == (403 if who else 401), seen
                    assert code(response) == ("door/role" if who else "door/sign-in"), seen


async def test_locked_session_can_only_be_shown_and_unlocked() -> None:
    async with opened() as setting:
        setting.client("dealer")
        setting.people.sessions.lock(setting.tokens["dealer"])
        opens = set()
        for method, path, name in routes(setting.app):
            if (
                name == "sign-out"
                or ANYONE in OPERATION_PERMISSIONS[name].roles
                or name == "read-metrics"
            ):
                continue
            response = await knock(setting, "dealer", method, path)
            if code(response) != "door/locked":
                opens.add(name)
        assert opens == {"show-session", "unlock"}


async def test_api_token_reaches_only_operations_of_its_scope() -> None:
    async with opened() as setting:
        account = setting.id("shift-manager")
        for scope in SCOPES:
            made = setting.people.tokens.create(account, scope, [scope])
            client = setting.client(Authorization=f"Bearer {made.token}")
            for method, path, name in routes(setting.app):
                right = OPERATION_PERMISSIONS[name]
                if ANYONE in right.roles or name == "read-metrics":
                    continue
                response = await client.request(method, address(setting, path), json={})
                allowed = "shift-manager" in right.roles and right.scope in (scope, "any")
                seen = (name, scope, response.status_code, response.text)
                assert (code(response) in ("door/scope", "door/role")) is not allowed, seen


@pytest.mark.parametrize("who", ROLES)
async def test_every_table_command_is_open_to_exactly_its_permitted_roles(who: str) -> None:
    async with opened() as setting:
        await seat(setting)
        setting.assign("dealer")
        setting.assign("supervisor")
        for kind in get_args(AnyTableCommand):
            name = kind.__name__
            response = await setting.send(who, {"type": name})
            allowed = who in kind.facts.roles
            seen = (name, who, response.status_code, response.text)
            assert response.status_code < 500, seen
            assert (code(response) == "door/role") is not allowed, seen
            if allowed and kind.facts.second_person and not kind.facts.may_go_alone:
                assert code(response) == "door/second-person", seen


@pytest.mark.parametrize("who", ROLES)
async def test_every_account_command_is_open_to_exactly_its_permitted_roles(who: str) -> None:
    async with opened() as setting:
        setting.assign("supervisor")
        path = f"/api/accounts/{setting.id('player')}/commands"
        for kind in get_args(AnyAccountCommand):
            client = setting.client(who, **{"Idempotency-Key": "k"})
            response = await client.post(path, json={"type": kind.__name__})
            allowed = who in kind.facts.roles
            assert (code(response) == "door/role") is not allowed, response.text


async def test_dealers_and_supervisors_act_only_at_assigned_tables() -> None:
    async with opened() as setting:
        await seat(setting, betting=False)
        for who, role in (("dealer", "dealer"), ("supervisor", "supervisor")):
            assert code(await setting.send(who, {"type": "OpenBetting"})) == "door/role"
            setting.assign(who, "2", role)
            assert code(await setting.send(who, {"type": "OpenBetting"})) == "door/role"
            setting.assign(who, "1", role)
            response = await setting.send(who, {"type": "Report", "irregularity": "bet-on-line"})
            assert code(response) != "door/role", response.text


async def test_ended_assignment_revokes_the_permission_at_the_table(house: Setting) -> None:
    await seat(house, betting=False)
    house.assign("dealer")
    assert (await house.send("dealer", {"type": "OpenBetting"})).status_code == 200
    (post,) = house.people.assignments.current(account=house.id("dealer"))
    house.people.assignments.end(post.id)
    assert code(await house.send("dealer", {"type": "CloseBetting"})) == "door/role"


@pytest.mark.parametrize("name", [name for name, each in COMMANDS.items() if each.facts.own_player])
async def test_player_command_for_another_player_is_refused(playing: Setting, name: str) -> None:
    command = {"type": name, "player": playing.id("other player"), "amount": 5}
    values = COMMANDS[name].facts.player_values
    command |= {field: allowed[0] for field, allowed in values.items()}
    command |= {"box": "big"} if "Bet" in name else {}
    before = (await playing.context.house.command_handler.table("1")).table.seats
    stacks = {player: seat.stack for player, seat in before.items()}
    response = await playing.send("player", command)
    assert (response.status_code, code(response)) == (403, "door/own")
    after = (await playing.context.house.command_handler.table("1")).table.seats
    assert {player: seat.stack for player, seat in after.items()} == stacks


@pytest.mark.parametrize(
    "path",
    [
        "/api/accounts/{player}",
        "/api/accounts/{player}/statement",
        "/api/tables/1/rounds/1/explanation?player={player}",
    ],
)
async def test_player_cannot_read_records_of_another_player(playing: Setting, path: str) -> None:
    for other in (playing.id("other player"), "nobody-of-this-id"):
        response = await playing.client("player").get(path.format(player=other))
        assert (response.status_code, code(response)) == (403, "door/own")


async def test_sessions_and_tokens_of_another_account_cannot_be_ended(playing: Setting) -> None:
    other = playing.client("supervisor")
    session = (await other.get("/api/session")).json()["session"]
    token = playing.people.tokens.create(playing.id("supervisor"), "board", ["read"]).api_token.id
    intruder = playing.client("dealer")
    for path in (f"/api/sessions/{session}", f"/api/tokens/{token}"):
        response = await intruder.delete(path)
        assert (response.status_code, code(response)) == (404, "unknown/id")
    assert (await other.get("/api/session")).status_code == 200
    assert [
        each.id for each in playing.people.tokens.list_for_account(playing.id("supervisor"))
    ] == [token]


def visitor(setting: Setting, who: str, scopes: tuple[str, ...] | None = None) -> Caller:
    account = setting.accounts[who]
    return Caller(account, "s", scopes, "open", setting.context.assignments.current(account.id))


async def test_audience_depends_on_role_and_assignment(house: Setting) -> None:
    house.assign("dealer")
    seen = {who: audience_of(visitor(house, who), "1") for who in EVERYBODY}
    everything, nothing = ("staff", ""), ("player", "")
    assert seen == {
        "player": ("player", house.id("player")),
        "other player": ("player", house.id("other player")),
        "dealer": everything,
        "supervisor": nothing,
        "pit-manager": everything,
        "shift-manager": everything,
        "auditor": everything,
        "administrator": None,
    }
    assert audience_of(visitor(house, "dealer"), "2") == nothing
    assert audience_of(visitor(house, "player", ("play",)), "1") is None


async def test_unlisted_operations_and_commands_are_refused_to_every_role(house: Setting) -> None:
    for who in EVERYBODY:
        assert not can_use(visitor(house, who), "no-such-thing")
        assert role_for(visitor(house, who), "NoSuchCommand", "1") is None


async def test_path_parameters_are_all_of_a_validated_kind() -> None:
    async with opened() as setting:
        for _, path, _ in routes(setting.app):
            for part in re.findall(r"{(\w+)}", path):
                assert part in {"table", "player", "round", "key", "request", "book", "layout",
                                "session", "token", "person", "assignment"}  # fmt: skip
