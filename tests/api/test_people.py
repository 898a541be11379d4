"""Accounts, assignments and the audit trail over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.api.house_app import HOUR, problem_code, seat_players

if TYPE_CHECKING:
    from tests.api.house_app import HouseApp

pytestmark = pytest.mark.anyio


async def test_administrator_changes_the_roles_of_an_account(house: HouseApp) -> None:
    admin = house.client("administrator")
    house.add_account("clerk", "dealer", "supervisor")
    path = f"/api/people/{house.id('clerk')}/roles"
    dealer = house.client("clerk")
    assert (await dealer.get("/api/tables")).is_success
    changed = await admin.put(path, json={"roles": ["dealer"]})
    assert changed.json()["roles"] == ["dealer"]
    assert problem_code(await dealer.get("/api/tables")) == "door/sign-in"
    for roles, status in ((["auditor", "dealer"], 422), (["king"], 422), ([], 422)):
        assert (await admin.put(path, json={"roles": roles})).status_code == status
    mixed = await admin.put(path, json={"roles": ["player"]})
    assert (mixed.status_code, problem_code(mixed)) == (409, "account/roles")


async def test_administrator_cannot_change_their_own_account(house: HouseApp) -> None:
    admin = house.client("administrator")
    own = house.id("administrator")
    for method, path, body in (
        ("PUT", "roles", {"roles": ["administrator", "shift-manager"]}),
        ("POST", "disable", None),
        ("POST", "password", None),
        ("POST", "forget", None),
        ("DELETE", "codes", None),
    ):
        response = await admin.request(method, f"/api/people/{own}/{path}", json=body)
        assert (response.status_code, problem_code(response)) == (403, "door/self")


async def test_administrator_disables_enables_resets_and_erases_accounts(house: HouseApp) -> None:
    admin, person = house.client("administrator"), house.id("other player")
    for method, path, status in (
        ("POST", "disable", 204),
        ("POST", "enable", 204),
        ("POST", "password", 200),
        ("DELETE", "codes", 204),
        ("DELETE", "sessions", 204),
        ("POST", "forget", 204),
    ):
        response = await admin.request(method, f"/api/people/{person}/{path}")
        assert response.status_code == status, response.text
        missing = await admin.request(method, f"/api/people/nobody/{path}")
        assert (missing.status_code, problem_code(missing)) == (404, "unknown/id")
    names = [each["name"] for each in (await admin.get("/api/people")).json()]
    assert "other-player-name" not in names


async def test_duplicate_account_name_is_refused(house: HouseApp) -> None:
    admin = house.client("administrator")
    body = {"name": "Player-Name", "roles": ["player"]}
    taken = await admin.post("/api/people", json=body)
    assert (taken.status_code, problem_code(taken)) == (409, "account/taken")


async def test_pit_manager_assigns_staff_to_tables_that_exist(house: HouseApp) -> None:
    await seat_players(house)
    manager, now = house.client("pit-manager"), house.identity.context.clock()
    body: dict[str, Any] = {
        "account": house.id("dealer"),
        "role": "dealer",
        "table": "1",
        "starts": now - HOUR,
        "until": now + HOUR,
    }
    made = await manager.post("/api/assignments", json=body)
    assert made.status_code == 201, made.text
    assert [each["id"] for each in (await manager.get("/api/assignments")).json()] == [
        made.json()["id"]
    ]
    nowhere = await manager.post("/api/assignments", json={**body, "table": "nowhere"})
    assert (nowhere.status_code, problem_code(nowhere)) == (404, "unknown/name")
    wrong = await manager.post("/api/assignments", json={**body, "role": "supervisor"})
    assert (wrong.status_code, problem_code(wrong)) == (409, "account/roles")
    own = await manager.post("/api/assignments", json={**body, "account": house.id("pit-manager")})
    assert problem_code(own) == "door/self"
    ended = await manager.delete(f"/api/assignments/{made.json()['id']}")
    assert ended.status_code == 204
    assert (await manager.get("/api/assignments")).json() == []


async def test_audit_trail_identifies_accounts_by_id_only(house: HouseApp) -> None:
    await house.client("administrator").post(f"/api/people/{house.id('dealer')}/disable")
    trail = (await house.client("auditor").get("/api/trail?most=1000")).json()
    last = trail[-1]
    disabled = [each for each in trail if each["kind"] == "account-disabled"]
    assert [(each["account"], each["by"]) for each in disabled] == [
        (house.id("dealer"), house.id("administrator"))
    ]
    rest = (await house.client("auditor").get(f"/api/trail?after={last['number']}")).json()
    assert rest == []
    assert "dealer-name" not in str(trail)
