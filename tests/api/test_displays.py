"""Displays: a results board signs in with a token of its own, and sees one table only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

import pytest

from tests.api.house_app import ORIGIN, open_house_app, problem_code, seat_players
from tests.api.test_authorisation import fill_path, routes
from threedice.api.auth.authorisation import ANYONE, OPERATION_PERMISSIONS
from threedice.house.commands import AnyAccountCommand, AnyTableCommand

if TYPE_CHECKING:
    import httpx

    from tests.api.house_app import HouseApp

pytestmark = pytest.mark.anyio

OF_A_DISPLAY = {"show-table", "list-results", "show-game", "show-display"}
FORM = {"table": "1", "label": "north wall"}


async def add_display(house: HouseApp, table: str = "1") -> dict[str, Any]:
    added = await house.client("pit-manager").post("/api/displays", json={**FORM, "table": table})
    assert added.status_code == 201, added.text
    return dict(added.json())


async def sign_in_board(house: HouseApp, token: str) -> httpx.AsyncClient:
    """Sign a board in, as its page does; the client keeps the cookie."""
    client = house.client()
    answer = await client.post("/api/displays/session", json={"token": token})
    assert answer.status_code == 200, answer.text
    return client


async def test_board_signs_in_with_its_token_and_follows_its_table(house_in_play: HouseApp) -> None:
    await house_in_play.bet("player")
    token = (await add_display(house_in_play))["token"]

    board = await sign_in_board(house_in_play, token)

    shown = (await board.get("/api/tables/1/display")).json()
    assert shown == {"table": "1", "label": "north wall"}
    view = (await board.get("/api/tables/1")).json()
    assert view == await public_view(house_in_play)
    for path in ("/api/tables/1/results", "/api/tables/1/game"):
        assert (await board.get(path)).status_code == 200


async def public_view(house: HouseApp) -> Any:
    """Return table 1 as staff who are not assigned to it see it: what is public."""
    house.add_account("stranger", "dealer")
    return await house.get("stranger", "/api/tables/1")


async def test_cookie_of_a_board_goes_to_its_table_only_and_is_hidden_from_scripts() -> None:
    async with open_house_app(secure=True, origins=("https://house.test",)) as house:
        await seat_players(house)
        token = house.identity.displays.add("1", "north wall").token
        client = house.client(Origin="https://house.test")
        answer = await client.post("https://house.test/api/displays/session", json={"token": token})
        assert answer.headers["set-cookie"] == (
            f"__Secure-threedice-display={token}; Path=/api/tables/1; HttpOnly; SameSite=Strict; "
            "Max-Age=34560000; Secure"
        )
        assert token not in answer.text


async def test_board_may_use_nothing_but_the_queries_of_a_board() -> None:
    async with open_house_app() as house:
        await seat_players(house)
        token = house.identity.displays.add("1", "north wall").token
        cookie = {"Cookie": f"{house.context.display_cookie_name}={token}"}
        for client in (house.client(**cookie), house.client(Authorization=f"Bearer {token}")):
            allowed = set()
            for method, path, name in routes(house.app):
                if ANYONE in OPERATION_PERMISSIONS[name].roles or name == "read-metrics":
                    continue
                response = await client.request(method, fill_path(house, path), json={})
                if response.status_code == 200:
                    allowed.add(name)
                else:
                    assert (response.status_code, problem_code(response)) == (403, "door/role")
            assert allowed == OF_A_DISPLAY


async def test_board_sends_no_command(house_in_play: HouseApp) -> None:
    token = house_in_play.identity.displays.add("1", "north wall").token
    client = house_in_play.client(
        **{"Authorization": f"Bearer {token}", "Idempotency-Key": "k", "Origin": ORIGIN}
    )
    player = house_in_play.id("player")
    for kinds, path in (
        (get_args(AnyTableCommand), "/api/tables/1/commands"),
        (get_args(AnyAccountCommand), f"/api/accounts/{player}/commands"),
    ):
        for kind in kinds:
            answer = await client.post(path, json={"type": kind.__name__, "player": player})
            assert (answer.status_code, problem_code(answer)) == (403, "door/role")


async def test_board_sees_no_other_table(house_in_play: HouseApp) -> None:
    await seat_players(house_in_play, table="2", betting=False)
    token = house_in_play.identity.displays.add("1", "north wall").token
    client = house_in_play.client(Cookie=f"{house_in_play.context.display_cookie_name}={token}")
    for path in ("", "/results", "/game", "/display"):
        assert (await client.get(f"/api/tables/1{path}")).status_code == 200
        assert (await client.get(f"/api/tables/2{path}")).status_code == 403


async def test_request_of_another_site_does_not_use_the_cookie_of_a_board(
    house_in_play: HouseApp,
) -> None:
    token = house_in_play.identity.displays.add("1", "north wall").token
    client = house_in_play.client(Cookie=f"{house_in_play.context.display_cookie_name}={token}")
    del client.headers["Origin"]
    answer = await client.post("/api/tables/1/commands", json={})
    assert (answer.status_code, problem_code(answer)) == (403, "door/origin")


async def test_revoked_token_is_refused_at_once(house_in_play: HouseApp) -> None:
    added = await add_display(house_in_play)
    board = await sign_in_board(house_in_play, added["token"])
    administrator = house_in_play.client("administrator")

    listed = (await administrator.get("/api/displays")).json()
    assert listed == [added["display"]]
    path = f"/api/displays/{added['display']['id']}"
    assert (await administrator.delete(path)).status_code == 204

    assert problem_code(await board.get("/api/tables/1")) == "door/sign-in"
    again = await board.post("/api/displays/session", json={"token": added["token"]})
    assert (again.status_code, problem_code(again)) == (401, "door/display")
    assert (await administrator.delete(path)).status_code == 404
    trail = [
        (event["kind"], event["by"], event["detail"])
        for event in await house_in_play.get("auditor", "/api/trail")
        if event["kind"].startswith("display")
    ]
    about = f"{added['display']['prefix']} for 1"
    assert trail == [
        ("display-added", house_in_play.id("pit-manager"), about),
        ("display-revoked", house_in_play.id("administrator"), about),
    ]


async def test_display_outlives_the_account_of_the_person_who_added_it(
    house_in_play: HouseApp,
) -> None:
    board = await sign_in_board(house_in_play, (await add_display(house_in_play))["token"])
    house_in_play.identity.accounts.disable(house_in_play.id("pit-manager"))
    assert (await board.get("/api/tables/1")).status_code == 200


async def test_display_is_added_in_a_session_of_a_manager_for_a_table_that_exists(
    house_in_play: HouseApp,
) -> None:
    house = house_in_play
    for who in ("player", "dealer", "supervisor", "auditor"):
        assert (await house.client(who).post("/api/displays", json=FORM)).status_code == 403
    made = house.identity.tokens.create(house.id("pit-manager"), "program", ["manage", "read"])
    program = house.client(Authorization=f"Bearer {made.token}")
    assert problem_code(await program.post("/api/displays", json=FORM)) == "door/scope"
    nowhere = {**FORM, "table": "nowhere"}
    answer = await house.client("administrator").post("/api/displays", json=nowhere)
    assert (answer.status_code, problem_code(answer)) == (404, "unknown/name")


async def test_display_token_is_no_session_and_a_session_is_no_display(
    house_in_play: HouseApp,
) -> None:
    context, token = house_in_play.context, (await add_display(house_in_play))["token"]
    house_in_play.client("player")
    session = house_in_play.tokens["player"]
    for cookie, value in (
        (context.cookie_name, token),
        (context.display_cookie_name, session),
        (context.display_cookie_name, "tdd_guessed"),
    ):
        client = house_in_play.client(Cookie=f"{cookie}={value}")
        assert problem_code(await client.get("/api/tables/1")) == "door/sign-in"


async def test_person_who_signs_in_at_a_board_sees_more_until_the_session_ends(
    house_in_play: HouseApp,
) -> None:
    house, context = house_in_play, house_in_play.context
    token = (await add_display(house))["token"]
    house.client("dealer")
    cookies = (
        f"{context.cookie_name}={house.tokens['dealer']}; {context.display_cookie_name}={token}"
    )
    client = house.client(Cookie=cookies)
    assert (await client.get("/api/tables/1/exposure")).status_code == 200

    house.identity.sessions.sign_out(house.tokens["dealer"])

    assert (await client.get("/api/tables/1/exposure")).status_code == 403
    assert (await client.get("/api/tables/1")).json() == await public_view(house)
