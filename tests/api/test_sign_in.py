"""Sign-in, sessions, second factors and API tokens over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.api.house_app import open_house_app, problem_code
from tests.identity.identity_cluster import PASSWORD, SteppedClock, TotpDevice
from threedice.identity import IdentityPolicy

if TYPE_CHECKING:
    import httpx

    from tests.api.house_app import HouseApp

pytestmark = pytest.mark.anyio

OTHER = "another long and quiet river"


async def sign_in(client: httpx.AsyncClient, name: str = "player-name", **more: str) -> str:
    """Sign in and return the token of the cookie."""
    response = await client.post("/api/session", json={"name": name, "password": PASSWORD, **more})
    assert response.status_code == 200, response.text
    return token_of(response)


def token_of(response: httpx.Response) -> str:
    return response.headers["set-cookie"].partition("=")[2].partition(";")[0]


async def is_signed_in(house: HouseApp, token: str) -> bool:
    client = house.client(Cookie=f"{house.context.cookie_name}={token}")
    return (await client.get("/api/session")).status_code == 200


async def test_session_shows_roles_and_assigned_tables(house: HouseApp) -> None:
    client = house.client()
    assert (await client.get("/api/session")).status_code == 401
    token = await sign_in(client, "DEALER-name")
    house.assign("dealer")
    answer = await client.get("/api/session")
    assert answer.json()["roles"] == ["dealer"]
    assert answer.json()["tables"] == ["1"]
    assert token not in answer.text


@pytest.mark.parametrize(
    ("who", "tables"),
    [("dealer", []), ("supervisor", []), ("pit-manager", None), ("auditor", None)],
)
async def test_session_of_an_account_without_an_assignment_has_no_table_unless_it_needs_none(
    house: HouseApp, who: str, tables: list[str] | None
) -> None:
    assert (await house.get(who, "/api/session"))["tables"] == tables


async def test_session_of_an_account_for_all_tables_is_limited_to_none(house: HouseApp) -> None:
    house.assign("dealer", "1")
    house.assign("dealer", None)
    assert (await house.get("dealer", "/api/session"))["tables"] is None


async def test_wrong_password_and_unknown_name_get_identical_responses(house: HouseApp) -> None:
    client = house.client()
    answers = [
        await client.post("/api/session", json={"name": name, "password": "wrong wrong wrong"})
        for name in ("player-name", "nobody-of-this-name")
    ]
    assert [each.status_code for each in answers] == [401, 401]
    assert answers[0].content == answers[1].content
    assert "set-cookie" not in answers[0].headers


async def test_sign_in_replaces_a_planted_session_cookie(house: HouseApp) -> None:
    """Session fixation: no cookie that a browser sends is valid after it signs in."""
    planted = await sign_in(house.client(), "other-player-name")
    for cookie in (planted, "A" * 43, "td_made_up"):
        victim = house.client(Cookie=f"{house.context.cookie_name}={cookie}")
        token = await sign_in(victim)
        assert token not in (planted, cookie)
        assert await is_signed_in(house, token)
        assert not await is_signed_in(house, cookie)


async def test_session_cookie_is_invalid_after_sign_out(house: HouseApp) -> None:
    client = house.client()
    token = await sign_in(client)
    assert await is_signed_in(house, token)
    out = await client.delete("/api/session")
    assert out.status_code == 204
    assert "Max-Age=0" in out.headers["set-cookie"]
    assert not await is_signed_in(house, token)
    client = house.client(Cookie=f"{house.context.cookie_name}={token}")
    assert problem_code(await client.get("/api/tables")) == "door/sign-in"


async def test_unlock_and_password_change_rotate_the_session_token(house: HouseApp) -> None:
    client = house.client()
    first = await sign_in(client)
    unlocked = await client.post("/api/session/unlock", json={"password": PASSWORD})
    second = token_of(unlocked)
    assert not await is_signed_in(house, first)
    changed = await client.put("/api/session/password", json={"old": PASSWORD, "new": OTHER})
    assert changed.status_code == 200, changed.text
    third = token_of(changed)
    assert not await is_signed_in(house, second)
    assert await is_signed_in(house, third)
    assert len({first, second, third}) == 3


async def test_password_change_ends_all_other_sessions(house: HouseApp) -> None:
    elsewhere = await sign_in(house.client())
    client = house.client()
    await sign_in(client)
    refused = await client.put("/api/session/password", json={"old": PASSWORD, "new": "short"})
    assert (refused.status_code, problem_code(refused)) == (422, "password/short")
    wrong = await client.put("/api/session/password", json={"old": "no", "new": OTHER})
    assert (wrong.status_code, problem_code(wrong)) == (401, "sign-in/credentials")
    assert await is_signed_in(house, elsewhere)
    await client.put("/api/session/password", json={"old": PASSWORD, "new": OTHER})
    assert not await is_signed_in(house, elsewhere)


@pytest.mark.parametrize(
    ("new", "code"),
    [
        ("correct horse staple", ""),
        ("P@ssw0rd2024!", "password/common"),
        ("20.11.1987", "password/common"),
        ("zaq12wsxcde34rfv", "password/common"),
        ("jennifer1985", "password/common"),
        ("Player-Name2024", "password/name"),
        ("a" * 72 + "kq7vtm2xhd9f", "password/common"),
    ],
)
async def test_a_new_password_that_is_easily_guessed_is_refused(
    house: HouseApp, new: str, code: str
) -> None:
    client = house.client()
    await sign_in(client)
    changed = await client.put("/api/session/password", json={"old": PASSWORD, "new": new})
    assert problem_code(changed) == code
    assert (await sign_in_status(house, PASSWORD)) == (401 if changed.is_success else 200)


async def sign_in_status(house: HouseApp, password: str) -> int:
    credentials = {"name": "player-name", "password": password}
    return (await house.client().post("/api/session", json=credentials)).status_code


async def test_a_locked_session_is_unlocked_by_its_password(house: HouseApp) -> None:
    client = house.client()
    await sign_in(client, "dealer-name")
    assert (await client.post("/api/session/lock")).status_code == 204
    assert (await client.get("/api/session")).json()["standing"] == "locked"
    assert problem_code(await client.get("/api/tables")) == "door/locked"
    wrong = await client.post("/api/session/unlock", json={"password": "not this"})
    assert problem_code(wrong) == "sign-in/credentials"
    assert problem_code(await client.get("/api/tables")) == "door/locked"
    assert (await client.post("/api/session/unlock", json={"password": PASSWORD})).is_success
    assert (await client.get("/api/tables")).status_code == 200


async def test_background_requests_do_not_keep_an_idle_dealer_session_open() -> None:
    clock = SteppedClock()
    async with open_house_app(clock=clock) as house:
        client = house.client("dealer")
        clock.move(200)
        assert (await client.get("/api/tables")).status_code == 200
        clock.move(200)
        quiet = {"Threedice-Background": "1"}
        assert (await client.get("/api/tables", headers=quiet)).status_code == 200
        clock.move(150)
        assert problem_code(await client.get("/api/tables", headers=quiet)) == "door/locked"


async def test_staff_must_enrol_totp_before_anything_else() -> None:
    clock = SteppedClock()
    async with open_house_app(policy=IdentityPolicy(), clock=clock) as house:
        client = house.client()
        await sign_in(client, "dealer-name")
        assert (await client.get("/api/session")).json()["standing"] == "enrolment"
        assert problem_code(await client.get("/api/tables")) == "door/enrolment"
        begun = await client.post("/api/session/codes", json={})
        telephone = TotpDevice(begun.json()["secret"], clock)
        wrong = await client.put("/api/session/codes", json={"code": "000000"})
        assert (wrong.status_code, problem_code(wrong)) == (401, "sign-in/code")
        done = await client.put("/api/session/codes", json={"code": telephone.code()})
        assert len(done.json()["recovery_codes"]) == 10
        assert (await client.get("/api/tables")).status_code == 200

        fresh = house.client()
        credentials = {"name": "dealer-name", "password": PASSWORD}
        assert (
            problem_code(await fresh.post("/api/session", json=credentials))
            == "sign-in/code-needed"
        )
        first = telephone.code()
        await sign_in(fresh, "dealer-name", code=first)
        again = await house.client().post("/api/session", json={**credentials, "code": first})
        assert (again.status_code, problem_code(again)) == (401, "sign-in/code")
        renewed = await fresh.post(
            "/api/session/recovery-codes", json={"password": PASSWORD, "code": telephone.code()}
        )
        assert len(renewed.json()["recovery_codes"]) == 10
        assert problem_code(await fresh.post("/api/session/codes", json={})) == "session/enrolled"


async def test_initial_password_permits_only_a_password_change(house: HouseApp) -> None:
    made = await house.client("administrator").post(
        "/api/people", json={"name": "newcomer", "roles": ["player"]}
    )
    assert made.status_code == 201
    client = house.client()
    credentials = {"name": "newcomer", "password": made.json()["password"]}
    assert (await client.post("/api/session", json=credentials)).is_success
    assert problem_code(await client.get("/api/tables")) == "door/new-password"
    change = {"old": credentials["password"], "new": OTHER}
    assert (await client.put("/api/session/password", json=change)).is_success
    assert (await client.get("/api/tables")).status_code == 200


async def test_account_lists_and_ends_its_other_sessions(house: HouseApp) -> None:
    elsewhere = await sign_in(house.client())
    client = house.client()
    await sign_in(client)
    listed = (await client.get("/api/sessions")).json()
    assert [each["current"] for each in listed] == [True, False]
    other = next(each["id"] for each in listed if not each["current"])
    assert (await client.delete(f"/api/sessions/{other}")).status_code == 204
    assert not await is_signed_in(house, elsewhere)
    assert (await client.get("/api/session")).status_code == 200


async def test_api_token_requires_the_password_and_can_be_revoked(
    house: HouseApp,
) -> None:
    client = house.client()
    await sign_in(client)
    request = {"name": "board", "scopes": ["read"]}
    assert problem_code(await client.post("/api/tokens", json=request)) == "sign-in/credentials"
    request["password"] = PASSWORD
    wrong = await client.post("/api/tokens", json={**request, "scopes": ["everything"]})
    assert wrong.status_code == 422
    made = await client.post("/api/tokens", json=request)
    assert made.status_code == 201, made.text
    program = house.client(Authorization=f"Bearer {made.json()['token']}")
    assert (await program.get("/api/tables")).status_code == 200
    assert problem_code(await program.get("/api/tokens")) == "door/scope"
    listed = await client.get("/api/tokens")
    assert made.json()["token"] not in listed.text
    (line,) = listed.json()
    assert (await client.delete(f"/api/tokens/{line['id']}")).status_code == 204
    assert problem_code(await program.get("/api/tables")) == "door/sign-in"


async def test_refused_further_api_token_leaves_the_session_signed_in(house: HouseApp) -> None:
    client = house.client()
    await sign_in(client)
    tokens, player = house.identity.tokens, house.id("player")
    first, *_ = (tokens.create(player, f"robot {number}", ["read"]) for number in range(20))
    request = {"name": "robot 20", "scopes": ["read"], "password": PASSWORD}

    refused = await client.post("/api/tokens", json=request)

    assert (refused.status_code, problem_code(refused)) == (409, "account/tokens")
    assert (await client.delete(f"/api/tokens/{first.api_token.id}")).status_code == 204
    assert (await client.post("/api/tokens", json=request)).status_code == 201


async def test_api_token_ends_when_the_password_is_changed_or_reset(house: HouseApp) -> None:
    client = house.client()
    await sign_in(client)
    change = {"old": PASSWORD, "new": OTHER}

    async def change_password() -> httpx.Response:
        return await client.put("/api/session/password", json=change)

    async def reset_password() -> httpx.Response:
        path = f"/api/people/{house.id('player')}/password"
        return await house.client("administrator").post(path)

    async def reset_codes() -> httpx.Response:
        path = f"/api/people/{house.id('player')}/codes"
        return await house.client("administrator").delete(path)

    for end_tokens in (change_password, reset_password, reset_codes):
        made = house.identity.tokens.create(house.id("player"), "board", ["read"])
        program = house.client(Authorization=f"Bearer {made.token}")
        assert (await program.get("/api/tables")).status_code == 200
        assert (await end_tokens()).is_success
        assert problem_code(await program.get("/api/tables")) == "door/sign-in"
        assert house.identity.tokens.list_for_account(house.id("player")) == []


async def test_api_token_requires_a_code_of_the_second_factor_besides_the_password() -> None:
    clock = SteppedClock()
    async with open_house_app(policy=IdentityPolicy(), clock=clock) as house:
        client = house.client()
        await sign_in(client, "dealer-name")
        begun = await client.post("/api/session/codes", json={})
        telephone = TotpDevice(begun.json()["secret"], clock)
        done = await client.put("/api/session/codes", json={"code": telephone.code()})
        recovery, other_recovery = done.json()["recovery_codes"][:2]
        board = {"name": "board", "scopes": ["read"]}
        for given, refusal in (
            ({}, "sign-in/credentials"),
            ({"code": recovery}, "sign-in/credentials"),
            ({"code": telephone.code()}, "sign-in/credentials"),
            ({"password": PASSWORD}, "sign-in/code-needed"),
            ({"password": PASSWORD, "code": recovery}, "sign-in/code"),
            ({"password": PASSWORD, "code": "000000"}, "sign-in/code"),
        ):
            refused = await client.post("/api/tokens", json=board | given)
            assert (refused.status_code, problem_code(refused)) == (401, refusal)
            clock.move(60)
        right = {"password": PASSWORD, "code": telephone.code()}
        assert (await client.post("/api/tokens", json=board | right)).status_code == 201

        recovered = house.client()
        await sign_in(recovered, "dealer-name", code=recovery)
        right = {"password": PASSWORD, "code": telephone.code()}
        refused = await recovered.post("/api/tokens", json=board | right)
        assert (refused.status_code, problem_code(refused)) == (403, "session/recovery")
        renewal = {"password": PASSWORD, "code": other_recovery}
        begun = await recovered.post("/api/session/codes", json=renewal)
        telephone = TotpDevice(begun.json()["secret"], clock)
        confirmation = {"code": telephone.code()}
        assert (await recovered.put("/api/session/codes", json=confirmation)).is_success
        right = {"password": PASSWORD, "code": telephone.code()}
        assert (await recovered.post("/api/tokens", json=board | right)).status_code == 201


@pytest.mark.parametrize(
    "authorization",
    ["Basic cGxheWVyOnBhc3N3b3Jk", "Bearer", "Bearer x", "Bearer td_", "Bearer td_" + "x" * 300],
)
async def test_invalid_authorization_header_overrides_a_valid_cookie(
    house: HouseApp, authorization: str
) -> None:
    client = house.client("player", Authorization=authorization)
    assert problem_code(await client.get("/api/tables")) == "door/sign-in"


async def test_session_tokens_and_api_tokens_are_not_interchangeable(house: HouseApp) -> None:
    token = await sign_in(house.client())
    bearer = house.client(Authorization=f"Bearer {token}")
    assert problem_code(await bearer.get("/api/tables")) == "door/sign-in"
    made = house.identity.tokens.create(house.id("player"), "board", ["read"])
    cookie = house.client(Cookie=f"{house.context.cookie_name}={made.token}")
    assert problem_code(await cookie.get("/api/tables")) == "door/sign-in"


async def test_disabled_account_loses_access_at_once(house: HouseApp) -> None:
    client = house.client("player")
    made = house.identity.tokens.create(house.id("player"), "board", ["read"])
    program = house.client(Authorization=f"Bearer {made.token}")
    assert (await client.get("/api/tables")).is_success
    assert (await program.get("/api/tables")).is_success
    admin = house.client("administrator")
    done = await admin.post(f"/api/people/{house.id('player')}/disable")
    assert done.status_code == 204
    assert problem_code(await client.get("/api/tables")) == "door/sign-in"
    assert problem_code(await program.get("/api/tables")) == "door/sign-in"
