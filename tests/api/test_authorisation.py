"""The permission matrix: every route and every command of the application, by every role."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

import pytest
from litestar.routes import HTTPRoute, WebSocketRoute

from tests.api.house_app import ACCOUNT_NAMES, open_house_app, problem_code, seat_players
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

    from tests.api.house_app import HouseApp

pytestmark = pytest.mark.anyio

PAGES = ("show-page", "show-asset")
DENIALS = {"door/role", "door/sign-in", "door/scope"}


def routes(app: Litestar) -> Iterator[tuple[str, str, str]]:
    """Yield method, path and name of every API route; pages are open to everyone."""
    for route in app.routes:
        if not isinstance(route, HTTPRoute):
            continue
        for handler in route.route_handlers:
            if handler.name in PAGES:
                continue
            for method in handler.http_methods:
                if method != "OPTIONS":
                    yield method, published_path(handler), handler.name or ""


def fill_path(house: HouseApp, path: str) -> str:
    """Fill the parameters of a path with plausible values."""
    values: dict[str, Any] = {
        "table": "1", "player": house.id("player"), "round": "1", "key": "k1", "request": "r1",
        "book": "sg-rws-tai-sai-v6", "layout": "a", "session": "s1", "token": "t1",
        "person": house.id("other player"), "assignment": "a1", "enrolment": "e1", "display": "d1",
            "piece": "d-1",
    }  # fmt: skip
    return path.format_map(values)


async def request(house: HouseApp, who: str, method: str, path: str) -> httpx.Response:
    client = house.client(who)
    return await client.request(method, fill_path(house, path), json={})


async def test_permission_table_lists_exactly_the_routes_of_the_application() -> None:
    async with open_house_app() as house:
        served = {name for _, _, name in routes(house.app)}
        sockets = {
            route.route_handler.name
            for route in house.app.routes
            if isinstance(route, WebSocketRoute)
        }
        others = [
            route for route in house.app.routes if not isinstance(route, HTTPRoute | WebSocketRoute)
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
    async with open_house_app() as house:
        house.assign("dealer")
        house.assign("supervisor")
        house.assign("game-supervisor")
        for method, path, name in routes(house.app):
            right = OPERATION_PERMISSIONS[name]
            house.tokens.clear()  # some routes end sessions
            for who in ("", *ROLES):
                response = await request(house, who, method, path)
                allowed = ANYONE in right.roles or who in right.roles
                if name == "read-metrics":
                    allowed = True  # the client is on the loopback address
                seen = (name, who, response.status_code, response.text)
                if allowed:
                    assert problem_code(response) not in DENIALS, seen
                    assert response.status_code < 500, seen
                else:
                    assert response.status_code == (403 if who else 401), seen
                    assert problem_code(response) == ("door/role" if who else "door/sign-in"), seen


async def test_locked_session_can_only_be_shown_and_unlocked() -> None:
    async with open_house_app() as house:
        house.client("dealer")
        house.identity.sessions.lock(house.tokens["dealer"])
        opens = set()
        for method, path, name in routes(house.app):
            if (
                name == "sign-out"
                or ANYONE in OPERATION_PERMISSIONS[name].roles
                or name == "read-metrics"
            ):
                continue
            response = await request(house, "dealer", method, path)
            if problem_code(response) != "door/locked":
                opens.add(name)
        assert opens == {"show-session", "unlock"}


async def test_api_token_reaches_only_operations_of_its_scope() -> None:
    async with open_house_app() as house:
        account = house.id("shift-manager")
        for scope in SCOPES:
            made = house.identity.tokens.create(account, scope, [scope])
            client = house.client(Authorization=f"Bearer {made.token}")
            for method, path, name in routes(house.app):
                right = OPERATION_PERMISSIONS[name]
                if ANYONE in right.roles or name == "read-metrics":
                    continue
                response = await client.request(method, fill_path(house, path), json={})
                allowed = "shift-manager" in right.roles and right.scope in (scope, "any")
                seen = (name, scope, response.status_code, response.text)
                assert (problem_code(response) in ("door/scope", "door/role")) is not allowed, seen


@pytest.mark.parametrize("scope", SCOPES)
async def test_api_token_of_any_scope_shows_for_whom_it_acts(house: HouseApp, scope: str) -> None:
    house.assign("dealer")
    made = house.identity.tokens.create(house.id("dealer"), "bot", [scope], seconds=60)
    program = house.client(Authorization=f"Bearer {made.token}")

    shown = await program.get("/api/session")

    assert (shown.status_code, shown.json()) == (
        200,
        {
            "account": house.id("dealer"),
            "name": house.accounts["dealer"].name,
            "roles": ["dealer"],
            "session": made.api_token.id,
            "standing": "open",
            "created": made.api_token.created,
            "until": made.api_token.expires,
            "tables": ["1"],
            "scopes": [scope],
        },
    )
    assert (await house.get("dealer", "/api/session"))["scopes"] is None


@pytest.mark.parametrize("who", ROLES)
async def test_every_table_command_is_open_to_exactly_its_permitted_roles(who: str) -> None:
    async with open_house_app() as house:
        await seat_players(house)
        house.assign("dealer")
        house.assign("supervisor")
        house.assign("game-supervisor")
        for kind in get_args(AnyTableCommand):
            name = kind.__name__
            response = await house.send(who, {"type": name})
            allowed = who in kind.facts.roles
            seen = (name, who, response.status_code, response.text)
            assert response.status_code < 500, seen
            assert (problem_code(response) == "door/role") is not allowed, seen
            if allowed and kind.facts.second_person and kind.facts.alone == "never":
                assert problem_code(response) == "door/second-person", seen


@pytest.mark.parametrize("who", ROLES)
async def test_every_account_command_is_open_to_exactly_its_permitted_roles(who: str) -> None:
    async with open_house_app() as house:
        house.assign("supervisor")
        house.assign("game-supervisor")
        path = f"/api/accounts/{house.id('player')}/commands"
        for kind in get_args(AnyAccountCommand):
            client = house.client(who, **{"Idempotency-Key": "k"})
            response = await client.post(path, json={"type": kind.__name__})
            allowed = who in kind.facts.roles
            assert (problem_code(response) == "door/role") is not allowed, response.text


async def test_dealers_and_supervisors_act_only_at_assigned_tables() -> None:
    async with open_house_app() as house:
        await seat_players(house, betting=False)
        for who, role in (("dealer", "dealer"), ("supervisor", "supervisor")):
            assert problem_code(await house.send(who, {"type": "OpenBetting"})) == "door/role"
            house.assign(who, "2", role)
            assert problem_code(await house.send(who, {"type": "OpenBetting"})) == "door/role"
            house.assign(who, "1", role)
            response = await house.send(who, {"type": "Report", "irregularity": "bet-on-line"})
            assert problem_code(response) != "door/role", response.text


async def test_ended_assignment_revokes_the_permission_at_the_table(house: HouseApp) -> None:
    await seat_players(house, betting=False)
    house.assign("dealer")
    assert (await house.send("dealer", {"type": "OpenBetting"})).status_code == 200
    (post,) = house.identity.assignments.current(account=house.id("dealer"))
    house.identity.assignments.end(post.id)
    assert problem_code(await house.send("dealer", {"type": "CloseBetting"})) == "door/role"


@pytest.mark.parametrize("name", [name for name, each in COMMANDS.items() if each.facts.own_player])
async def test_player_command_for_another_player_is_refused(
    house_in_play: HouseApp, name: str
) -> None:
    command = {"type": name, "player": house_in_play.id("other player"), "amount": 5}
    values = COMMANDS[name].facts.player_values
    command |= {field: allowed[0] for field, allowed in values.items()}
    command |= {"box": "big"} if "Bet" in name else {}
    before = (await house_in_play.handler.table("1")).table.seats
    stacks = {player: seat.stack for player, seat in before.items()}
    response = await house_in_play.send("player", command)
    assert (response.status_code, problem_code(response)) == (403, "door/own")
    after = (await house_in_play.handler.table("1")).table.seats
    assert {player: seat.stack for player, seat in after.items()} == stacks


@pytest.mark.parametrize(
    "path",
    [
        "/api/accounts/{player}",
        "/api/accounts/{player}/statement",
        "/api/accounts/{player}/ledgers",
        "/api/tables/1/rounds/1/explanation?player={player}",
    ],
)
async def test_player_cannot_read_records_of_another_player(
    house_in_play: HouseApp, path: str
) -> None:
    for other in (house_in_play.id("other player"), "nobody-of-this-id"):
        response = await house_in_play.client("player").get(path.format(player=other))
        assert (response.status_code, problem_code(response)) == (403, "door/own")


async def test_sessions_and_tokens_of_another_account_cannot_be_ended(
    house_in_play: HouseApp,
) -> None:
    other = house_in_play.client("supervisor")
    session = (await other.get("/api/session")).json()["session"]
    token = house_in_play.identity.tokens.create(
        house_in_play.id("supervisor"), "board", ["read"]
    ).api_token.id
    intruder = house_in_play.client("dealer")
    for path in (f"/api/sessions/{session}", f"/api/tokens/{token}"):
        response = await intruder.delete(path)
        assert (response.status_code, problem_code(response)) == (404, "unknown/id")
    assert (await other.get("/api/session")).status_code == 200
    assert [
        each.id
        for each in house_in_play.identity.tokens.list_for_account(house_in_play.id("supervisor"))
    ] == [token]


def caller(house: HouseApp, who: str, scopes: tuple[str, ...] | None = None) -> Caller:
    account = house.accounts[who]
    return Caller(account, "s", scopes, "open", house.context.assignments.current(account.id))


async def test_audience_depends_on_role_and_assignment(house: HouseApp) -> None:
    house.assign("dealer")
    seen = {who: audience_of(caller(house, who), "1") for who in ACCOUNT_NAMES}
    everything, nothing = ("staff", ""), ("player", "")
    assert seen == {
        "player": ("player", house.id("player")),
        "other player": ("player", house.id("other player")),
        "dealer": everything,
        "game-supervisor": nothing,
        "supervisor": nothing,
        "pit-manager": everything,
        "shift-manager": everything,
        "auditor": everything,
        "administrator": None,
    }
    assert audience_of(caller(house, "dealer"), "2") == nothing
    assert audience_of(caller(house, "player", ("play",)), "1") is None


async def test_unlisted_operations_and_commands_are_refused_to_every_role(house: HouseApp) -> None:
    for who in ACCOUNT_NAMES:
        assert not can_use(caller(house, who), "no-such-thing")
        assert role_for(caller(house, who), "NoSuchCommand", "1") is None
