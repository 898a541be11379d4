"""Nobody is both persons of a request: staff are enrolled and reset by two administrators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.api.house_app import open_house_app, problem_code, seat_players
from tests.api.test_approvals import open_request
from tests.identity.identity_cluster import PASSWORD, SteppedClock, TotpDevice
from threedice.identity import IdentityPolicy

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import httpx

    from tests.api.house_app import HouseApp

pytestmark = pytest.mark.anyio

WAIT_SECONDS = 5 * 3600
NEW_PASSWORD = "another long and quiet river"


@pytest.fixture
def clock() -> SteppedClock:
    return SteppedClock()


@pytest.fixture
async def pit(clock: SteppedClock) -> AsyncIterator[HouseApp]:
    """Open a house with two administrators, where staff may approve five hours after enrolment."""
    policy = IdentityPolicy(second_factor=False, approver_wait_seconds=WAIT_SECONDS)
    async with open_house_app(policy=policy, clock=clock) as house:
        house.add_account("second administrator", "administrator")
        await seat_players(house)
        house.assign("dealer")
        house.assign("supervisor")
        yield house


async def post(house: HouseApp, who: str, path: str, body: Any = None) -> httpx.Response:
    return await house.client(who).post(path, json=body)


async def pending(house: HouseApp) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = await house.get("administrator", "/api/enrolments")
    return listed


async def decide(
    house: HouseApp, who: str, about: str, decision: str = "confirm"
) -> httpx.Response:
    """Confirm or decline the pending enrolment of an account; keep a first password.

    Administrators must have been told before whether they may confirm it.
    """
    listed = house.identity.enrolments.pending()
    (enrolment,) = [each.id for each in listed if each.account == house.id(about)]
    seen = await house.client(who).get("/api/enrolments")
    decided = await post(house, who, f"/api/enrolments/{enrolment}/{decision}")
    if decision == "confirm" and seen.is_success:
        (may_confirm,) = [each["may_confirm"] for each in seen.json() if each["id"] == enrolment]
        assert may_confirm is (decided.status_code == 200)
    if decided.status_code == 200:
        house.first_passwords[about] = decided.json()["password"]
    return decided


async def hire(house: HouseApp, by: str, name: str, *roles: str) -> str:
    """Add a staff account over HTTP; return its id."""
    added = await post(house, by, "/api/people", {"name": name, "roles": roles})
    assert added.status_code == 201, added.text
    house.accounts[name] = house.identity.accounts.get(added.json()["account"]["id"])
    assert added.json()["password"] == ""
    return house.id(name)


async def sign_in(house: HouseApp, name: str, password: str) -> httpx.Response:
    """Sign in and change the first password, as its recipient would."""
    client = house.client()
    account = house.accounts[name].name
    response = await client.post("/api/session", json={"name": account, "password": password})
    if response.is_success:
        cookie = response.headers["set-cookie"].partition(";")[0]
        house.tokens[name] = cookie.partition("=")[2]
    if response.is_success and response.json()["standing"] == "new-password":
        body = {"old": password, "new": NEW_PASSWORD}
        changed = await client.put("/api/session/password", json=body, headers={"Cookie": cookie})
        assert changed.is_success, changed.text
        house.tokens[name] = changed.headers["set-cookie"].partition(";")[0].partition("=")[2]
    return response


async def approve(house: HouseApp, requester: str, approver: str) -> httpx.Response:
    """Approve a new request; the approver must have been told before whether they may."""
    request = await open_request(house, requester)
    assert request.status_code == 201, request.text
    path = f"/api/requests/{request.json()['id']}"
    seen = await house.get(approver, path)
    response = await post(house, approver, f"{path}/approve", {})
    assert seen["may_decide"] is (response.status_code == 200)
    return response


async def take_over(house: HouseApp, by: str, who: str) -> None:
    """Reset the password of an account and sign in as it."""
    reset = await post(house, by, f"/api/people/{house.id(who)}/password")
    assert (await sign_in(house, who, reset.json()["password"])).is_success


# --- new staff ----------------------------------------------------------------------------------


async def test_new_staff_cannot_sign_in_until_a_second_administrator_confirms(
    pit: HouseApp,
) -> None:
    account = await hire(pit, "administrator", "nora", "supervisor")
    refused = await sign_in(pit, "nora", PASSWORD)
    assert problem_code(refused) == "sign-in/credentials"
    (listed,) = await pending(pit)
    assert (listed["account"], listed["kind"], listed["roles"], listed["asked_by"]) == (
        account,
        "account",
        ["supervisor"],
        pit.id("administrator"),
    )

    own = await decide(pit, "administrator", "nora")
    assert (own.status_code, problem_code(own)) == (403, "request/own")
    await post(pit, "administrator", f"/api/people/{account}/enable")
    assert not pit.identity.accounts.get(account).enabled
    assert (await decide(pit, "second administrator", "nora")).status_code == 200

    assert (await sign_in(pit, "nora", pit.first_passwords["nora"])).is_success
    assert await pending(pit) == []


async def test_player_accounts_need_no_confirmation(pit: HouseApp) -> None:
    added = await post(pit, "administrator", "/api/people", {"name": "pia", "roles": ["player"]})
    assert added.json()["account"]["enabled"]
    assert await pending(pit) == []


async def test_administrator_without_a_second_one_cannot_enrol_staff(house: HouseApp) -> None:
    admin, dealer = house.client("administrator"), house.id("dealer")
    added = await admin.post("/api/people", json={"name": "nora", "roles": ["dealer"]})
    promoted = await admin.put(f"/api/people/{dealer}/roles", json={"roles": ["shift-manager"]})
    assert (await admin.post(f"/api/people/{dealer}/disable")).is_success
    enabled = await admin.post(f"/api/people/{dealer}/enable")
    for refused in (added, promoted, enabled):
        assert (refused.status_code, problem_code(refused)) == (409, "account/second-administrator")
        assert "threedice users" in refused.json()["detail"]
    assert house.identity.accounts.find_by_name("nora") is None


async def test_declined_account_never_signs_in_and_frees_its_name(pit: HouseApp) -> None:
    await hire(pit, "administrator", "nora", "dealer")
    assert (await decide(pit, "second administrator", "nora", "decline")).status_code == 204
    again = await post(pit, "administrator", f"/api/people/{pit.id('nora')}/enable")
    assert again.is_success
    refused = await sign_in(pit, "nora", PASSWORD)
    assert problem_code(refused) == "sign-in/credentials"
    await hire(pit, "administrator", "nora", "dealer")


async def test_decided_enrolment_cannot_be_decided_again(pit: HouseApp) -> None:
    await hire(pit, "administrator", "nora", "dealer")
    enrolment = (await pending(pit))[0]["id"]
    path = f"/api/enrolments/{enrolment}"
    assert (await post(pit, "second administrator", f"{path}/confirm")).status_code == 200
    for decision in ("confirm", "decline"):
        late = await post(pit, "second administrator", f"{path}/{decision}")
        assert (late.status_code, problem_code(late)) == (409, "request/decided")
        missing = await post(pit, "administrator", f"/api/enrolments/nothing/{decision}")
        assert (missing.status_code, problem_code(missing)) == (404, "unknown/id")


async def test_enrolment_of_a_dismissed_administrator_is_not_confirmed(pit: HouseApp) -> None:
    pit.add_account("third administrator", "administrator")
    await hire(pit, "administrator", "nora", "dealer")
    dismissed = f"/api/people/{pit.id('administrator')}/disable"
    assert (await post(pit, "second administrator", dismissed)).is_success
    refused = await decide(pit, "second administrator", "nora")
    assert (refused.status_code, problem_code(refused)) == (409, "request/disabled")


async def test_every_step_of_an_enrolment_is_in_the_audit_trail(pit: HouseApp) -> None:
    start = pit.identity.audit_trail.latest()
    first = await hire(pit, "administrator", "nora", "dealer")
    await decide(pit, "second administrator", "nora")
    second = await hire(pit, "administrator", "olga", "dealer")
    await decide(pit, "second administrator", "olga", "decline")
    trail = await pit.get("auditor", f"/api/trail?after={start}&most=1000")
    steps = [(each["kind"], each["account"], each["by"]) for each in trail]
    one, two = pit.id("administrator"), pit.id("second administrator")
    assert [each for each in steps if each[0].startswith(("enrolment", "account-added"))] == [
        ("account-added", first, one),
        ("enrolment-asked", first, one),
        ("enrolment-confirmed", first, two),
        ("account-added", second, one),
        ("enrolment-asked", second, one),
        ("enrolment-declined", second, two),
    ]


# --- other roles --------------------------------------------------------------------------------


async def test_further_roles_take_effect_when_a_second_administrator_confirms(
    pit: HouseApp,
) -> None:
    path = f"/api/people/{pit.id('dealer')}/roles"
    roles = {"roles": ["dealer", "shift-manager"]}
    asked = await pit.client("administrator").put(path, json=roles)
    assert asked.json()["roles"] == ["dealer"]
    assert (await decide(pit, "second administrator", "dealer")).status_code == 200
    assert pit.identity.accounts.get(pit.id("dealer")).roles == ("dealer", "shift-manager")


async def test_roles_are_taken_away_at_once(pit: HouseApp) -> None:
    pit.add_account("clerk", "dealer", "supervisor")
    path = f"/api/people/{pit.id('clerk')}/roles"
    fewer = await pit.client("administrator").put(path, json={"roles": ["supervisor"]})
    assert fewer.json()["roles"] == ["supervisor"]
    assert await pending(pit) == []


async def test_administrator_of_two_gets_further_roles_on_the_command_line_only(
    pit: HouseApp,
) -> None:
    path = f"/api/people/{pit.id('second administrator')}/roles"
    roles = {"roles": ["administrator", "dealer"]}
    refused = await pit.client("administrator").put(path, json=roles)
    assert (refused.status_code, problem_code(refused)) == (409, "account/second-administrator")


async def test_disabled_staff_return_when_a_second_administrator_confirms(pit: HouseApp) -> None:
    path = f"/api/people/{pit.id('supervisor')}"
    await post(pit, "administrator", f"{path}/disable")
    assert (await post(pit, "administrator", f"{path}/enable")).status_code == 204
    assert not pit.identity.accounts.get(pit.id("supervisor")).enabled
    assert (await decide(pit, "second administrator", "supervisor")).status_code == 200
    assert pit.identity.accounts.get(pit.id("supervisor")).enabled


# --- who may decide requests --------------------------------------------------------------------


async def test_new_staff_approve_only_after_the_time_that_the_house_sets(
    pit: HouseApp, clock: SteppedClock
) -> None:
    await hire(pit, "administrator", "nora", "pit-manager")
    await decide(pit, "second administrator", "nora")
    await sign_in(pit, "nora", pit.first_passwords["nora"])
    refused = await approve(pit, "dealer", "nora")
    assert (refused.status_code, problem_code(refused)) == (403, "request/too-new")
    assert refused.json()["facts"] == {"hours": 5}
    assert "2023-11-15T03:13 UTC" in refused.json()["detail"]

    clock.move(WAIT_SECONDS)
    pit.tokens.clear()
    await sign_in(pit, "nora", NEW_PASSWORD)
    pit.assign("dealer")
    assert (await approve(pit, "dealer", "nora")).status_code == 200


async def test_administrator_who_takes_over_two_supervisors_cannot_approve_as_one_of_them(
    pit: HouseApp, clock: SteppedClock
) -> None:
    pit.add_account("other supervisor", "supervisor")
    pit.assign("other supervisor", role="supervisor")
    clock.move(100 * 24 * 3600)
    pit.tokens.clear()
    for who in ("supervisor", "other supervisor"):
        await take_over(pit, "administrator", who)
        pit.assign(who, role="supervisor")
    refused = await approve(pit, "supervisor", "other supervisor")
    assert (refused.status_code, problem_code(refused)) == (403, "request/unconfirmed")
    own = await decide(pit, "administrator", "supervisor")
    assert problem_code(own) == "request/own"


async def test_reset_supervisor_approves_again_after_confirmation_and_the_time_of_the_house(
    pit: HouseApp, clock: SteppedClock
) -> None:
    await take_over(pit, "administrator", "supervisor")
    assert problem_code(await approve(pit, "dealer", "supervisor")) == "request/unconfirmed"
    assert (await decide(pit, "second administrator", "supervisor")).status_code == 200
    assert problem_code(await approve(pit, "dealer", "supervisor")) == "request/too-new"
    clock.move(WAIT_SECONDS)
    pit.tokens.clear()
    await sign_in(pit, "supervisor", NEW_PASSWORD)
    for who in ("dealer", "supervisor"):
        pit.assign(who)
    assert (await approve(pit, "dealer", "supervisor")).status_code == 200


async def test_reset_second_factor_counts_like_a_reset_password(pit: HouseApp) -> None:
    path = f"/api/people/{pit.id('supervisor')}/codes"
    assert (await pit.client("administrator").delete(path)).status_code == 204
    assert problem_code(await approve(pit, "dealer", "supervisor")) == "request/unconfirmed"
    declined = await decide(pit, "second administrator", "supervisor", "decline")
    assert declined.status_code == 204
    assert not pit.identity.accounts.get(pit.id("supervisor")).enabled


async def test_administrator_cannot_approve_what_they_request_as_a_dealer_they_reset(
    pit: HouseApp, clock: SteppedClock
) -> None:
    path = f"/api/people/{pit.id('administrator')}/roles"
    roles = {"roles": ["administrator", "shift-manager"]}
    pit.add_account("third administrator", "administrator")
    assert (await pit.client("second administrator").put(path, json=roles)).is_success
    assert (
        problem_code(await decide(pit, "third administrator", "administrator")) == "request/too-new"
    )
    clock.move(WAIT_SECONDS)
    pit.tokens.clear()
    assert (await decide(pit, "third administrator", "administrator")).status_code == 200
    clock.move(WAIT_SECONDS)
    pit.tokens.clear()
    pit.assign("dealer")
    await take_over(pit, "administrator", "dealer")
    refused = await approve(pit, "dealer", "administrator")
    assert (refused.status_code, problem_code(refused)) == (403, "request/enrolled")
    assert (await approve(pit, "dealer", "shift-manager")).status_code == 200


async def make_administrator_a_shift_manager(house: HouseApp, clock: SteppedClock) -> None:
    """Give the administrator a role that decides requests, confirmed by a third administrator."""
    house.add_account("third administrator", "administrator")
    clock.move(WAIT_SECONDS)
    house.tokens.clear()
    path = f"/api/people/{house.id('administrator')}/roles"
    roles = {"roles": ["administrator", "shift-manager"]}
    await house.client("second administrator").put(path, json=roles)
    assert (await decide(house, "third administrator", "administrator")).status_code == 200
    clock.move(WAIT_SECONDS)
    house.tokens.clear()


async def test_requester_who_enrolled_the_approver_needs_somebody_else(
    pit: HouseApp, clock: SteppedClock
) -> None:
    await make_administrator_a_shift_manager(pit, clock)
    await hire(pit, "administrator", "nora", "pit-manager")
    assert (await decide(pit, "third administrator", "nora")).status_code == 200
    clock.move(WAIT_SECONDS)
    pit.tokens.clear()
    await sign_in(pit, "nora", pit.first_passwords["nora"])
    refused = await approve(pit, "administrator", "nora")
    assert (refused.status_code, problem_code(refused)) == (403, "request/enrolled")
    pit.assign("dealer")
    assert (await approve(pit, "dealer", "nora")).status_code == 200


async def test_approver_who_enrolled_or_reset_the_requester_needs_somebody_else(
    pit: HouseApp, clock: SteppedClock
) -> None:
    await make_administrator_a_shift_manager(pit, clock)
    await hire(pit, "administrator", "nora", "dealer")
    assert (await decide(pit, "third administrator", "nora")).status_code == 200
    await sign_in(pit, "nora", pit.first_passwords["nora"])
    pit.assign("nora", "1", "dealer")
    pit.assign("dealer")
    await take_over(pit, "administrator", "dealer")
    assert (await decide(pit, "third administrator", "dealer")).status_code == 200
    for requester in ("nora", "dealer"):
        refused = await approve(pit, requester, "administrator")
        assert (refused.status_code, problem_code(refused)) == (403, "request/enrolled"), requester
        assert (await approve(pit, requester, "shift-manager")).status_code == 200


# --- administrators -----------------------------------------------------------------------------


async def test_administrator_who_takes_over_the_second_one_cannot_confirm_as_either(
    pit: HouseApp,
) -> None:
    await take_over(pit, "administrator", "second administrator")
    added = await post(pit, "administrator", "/api/people", {"name": "ed", "roles": ["dealer"]})
    assert problem_code(added) == "account/second-administrator"
    added = await post(
        pit, "second administrator", "/api/people", {"name": "ed", "roles": ["dealer"]}
    )
    assert problem_code(added) == "account/second-administrator"
    for who in ("administrator", "second administrator"):
        assert problem_code(await decide(pit, who, "second administrator")) == "request/own"


async def test_administrator_taken_over_with_an_enrolment_pending_cannot_confirm_it(
    pit: HouseApp, clock: SteppedClock
) -> None:
    pit.add_account("third administrator", "administrator")
    clock.move(WAIT_SECONDS)
    pit.tokens.clear()
    await hire(pit, "administrator", "nora", "dealer")
    enrolment = (await pending(pit))[0]["id"]
    await take_over(pit, "administrator", "third administrator")
    path = f"/api/enrolments/{enrolment}/confirm"
    assert problem_code(await post(pit, "third administrator", path)) == "request/unconfirmed"
    await take_over(pit, "third administrator", "dealer")
    assert problem_code(await decide(pit, "administrator", "dealer")) == "request/own"
    assert (await post(pit, "second administrator", path)).status_code == 200


async def test_session_opened_with_a_recovery_code_decides_nothing(clock: SteppedClock) -> None:
    async with open_house_app(policy=IdentityPolicy(), clock=clock) as house:
        await seat_players(house)
        house.assign("dealer")
        for who in ("dealer", "pit-manager"):
            name = house.accounts[who].name
            started = house.identity.authentication.sign_in(name, PASSWORD)
            secret = house.identity.second_factors.begin_enrolment(started.token).secret
            device = TotpDevice(secret, clock)
            enrolled = house.identity.second_factors.confirm_enrolment(started.token, device.code())
            house.tokens[who] = enrolled.issued_session.token
        house.tokens["pit-manager"] = house.identity.authentication.sign_in(
            name, PASSWORD, code=enrolled.recovery_codes[0]
        ).token
        refused = await approve(house, "dealer", "pit-manager")
        assert (refused.status_code, problem_code(refused)) == (403, "request/recovery")
        house.tokens["pit-manager"] = house.identity.authentication.sign_in(
            name, PASSWORD, code=device.code()
        ).token
        assert (await approve(house, "dealer", "pit-manager")).status_code == 200


async def test_password_reset_by_another_administrator_excludes_the_first_one(
    pit: HouseApp,
) -> None:
    await take_over(pit, "administrator", "supervisor")
    path = f"/api/people/{pit.id('supervisor')}"
    assert (await pit.client("second administrator").delete(f"{path}/codes")).is_success
    for who in ("administrator", "second administrator"):
        assert problem_code(await decide(pit, who, "supervisor")) == "request/own"
    assert (await post(pit, "second administrator", f"{path}/password")).is_success
    assert (await decide(pit, "administrator", "supervisor")).status_code == 200
