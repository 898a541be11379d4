"""Two-person commands: requested by one account, approved by another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.api.house_app import open_house_app, problem_code, seat_players
from tests.identity.identity_cluster import SteppedClock
from threedice import load
from threedice.table.limits import uniform_limits

if TYPE_CHECKING:
    import httpx

    from tests.api.house_app import HouseApp

pytestmark = pytest.mark.anyio


def new_limits() -> dict[str, Any]:
    limits = uniform_limits(load("sg-rws-tai-sai-v6/a"), 5, 500, 500)
    families = {
        name: {"minimum": each.minimum, "maximum": each.maximum}
        for name, each in limits.families.items()
    }
    command = {"families": families, "differential": limits.differential}
    return {"type": "SetLimits", "limits": command}


async def open_request(
    house: HouseApp, who: str = "dealer", command: dict[str, Any] | None = None
) -> httpx.Response:
    body = {"command": command or new_limits(), "reason": "a quiet night"}
    return await house.client(who).post("/api/tables/1/requests", json=body)


async def test_supervisor_approves_the_request_of_a_dealer(house_in_play: HouseApp) -> None:
    response = await open_request(house_in_play)
    assert response.status_code == 201, response.text
    request = response.json()
    assert request["command"]["by"] == {"id": house_in_play.id("dealer"), "role": "dealer"}
    assert "approved_by" not in request["command"]
    pending = (await house_in_play.client("auditor").get("/api/requests?table=1")).json()
    assert [each["id"] for each in pending] == [request["id"]]

    path = f"/api/requests/{request['id']}/approve"
    done = await house_in_play.client("supervisor").post(path, json={"note": "fine"})
    assert done.status_code == 200, done.text
    (event,) = done.json()["events"]
    assert event["type"] == "LimitsSet"
    assert event["by"] == {"id": house_in_play.id("dealer"), "role": "dealer"}
    assert event["approved_by"] == {"id": house_in_play.id("supervisor"), "role": "supervisor"}
    after = (await house_in_play.client("dealer").get(f"/api/requests/{request['id']}")).json()
    assert (after["state"], after["decided_by"]) == ("approved", house_in_play.id("supervisor"))
    assert (await house_in_play.client("dealer").get("/api/requests")).json() == []


async def test_approver_named_in_the_request_body_is_refused(house_in_play: HouseApp) -> None:
    named = {
        **new_limits(),
        "approved_by": {"id": house_in_play.id("supervisor"), "role": "supervisor"},
    }
    before = house_in_play.store.head("table/1")
    for who in ("dealer", "supervisor", "pit-manager"):
        sent = await house_in_play.send(who, named)
        assert (sent.status_code, problem_code(sent)) == (403, "door/second-person")
        assert problem_code(await open_request(house_in_play, who, named)) == "door/second-person"
    assert problem_code(await house_in_play.send("dealer", new_limits())) == "door/second-person"
    report = {
        "type": "Report",
        "irregularity": "dice-damaged",
        "approved_by": named["approved_by"],
    }
    assert problem_code(await house_in_play.send("dealer", report)) == "door/second-person"
    assert house_in_play.store.head("table/1") == before


async def test_requester_cannot_decide_their_own_request(house_in_play: HouseApp) -> None:
    request = (await open_request(house_in_play, "supervisor")).json()["id"]
    for decision in ("approve", "decline"):
        own = await house_in_play.client("supervisor").post(
            f"/api/requests/{request}/{decision}", json={}
        )
        assert (own.status_code, problem_code(own)) == (403, "request/own")
    other = await house_in_play.client("pit-manager").post(
        f"/api/requests/{request}/approve", json={}
    )
    assert other.status_code == 200, other.text


async def test_approval_requires_an_approving_role_at_the_table() -> None:
    async with open_house_app() as house:
        await seat_players(house)
        house.assign("dealer")
        house.assign("supervisor", "2")
        house.add_account("second dealer", "dealer")
        house.assign("second dealer", "1", "dealer")
        request = (await open_request(house)).json()["id"]
        path = f"/api/requests/{request}/approve"
        for who, expected in (
            ("supervisor", "request/role"),
            ("second dealer", "door/role"),
            ("auditor", "door/role"),
            ("administrator", "door/role"),
            ("player", "door/role"),
        ):
            refused = await house.client(who).post(path, json={})
            assert (refused.status_code, problem_code(refused)) == (403, expected)
        assert (await house.client("shift-manager").post(path, json={})).status_code == 200


async def test_approving_a_request_twice_executes_its_command_once(house_in_play: HouseApp) -> None:
    request = (await open_request(house_in_play)).json()["id"]
    path = f"/api/requests/{request}/approve"
    first = await house_in_play.client("supervisor").post(path, json={})
    version = house_in_play.store.head("table/1").version
    again = await house_in_play.client("supervisor").post(path, json={})
    assert again.content == first.content
    assert house_in_play.store.head("table/1").version == version
    other = await house_in_play.client("pit-manager").post(path, json={})
    assert (other.status_code, problem_code(other)) == (409, "request/decided")


async def test_approved_command_against_the_rules_is_refused(house_in_play: HouseApp) -> None:
    amend = {"type": "AmendResult", "dice": [1, 2, 3]}
    request = (await open_request(house_in_play, command=amend)).json()["id"]
    response = await house_in_play.client("supervisor").post(
        f"/api/requests/{request}/approve", json={}
    )
    assert response.status_code == 409
    assert problem_code(response) == "dice/not-called"


async def test_declined_and_withdrawn_requests_are_never_executed(house_in_play: HouseApp) -> None:
    before = house_in_play.store.head("table/1")
    declined, withdrawn = [(await open_request(house_in_play)).json()["id"] for _ in range(2)]
    refusal = await house_in_play.client("supervisor").post(
        f"/api/requests/{declined}/decline", json={"note": "no"}
    )
    assert (refusal.json()["state"], refusal.json()["note"]) == ("declined", "no")
    stranger = await house_in_play.client("supervisor").post(f"/api/requests/{withdrawn}/withdraw")
    assert problem_code(stranger) == "request/not-own"
    back = await house_in_play.client("dealer").post(f"/api/requests/{withdrawn}/withdraw")
    assert back.json()["state"] == "withdrawn"
    for request in (declined, withdrawn):
        late = await house_in_play.client("pit-manager").post(
            f"/api/requests/{request}/approve", json={}
        )
        assert (late.status_code, problem_code(late)) == (409, "request/decided")
    assert house_in_play.store.head("table/1") == before


async def test_request_cannot_be_approved_after_it_expired() -> None:
    clock = SteppedClock()
    async with open_house_app(clock=clock) as house:
        await seat_players(house)
        house.assign("dealer")
        request = (await open_request(house)).json()["id"]
        clock.move(16 * 60)
        house.tokens.clear()
        late = await house.client("pit-manager").post(f"/api/requests/{request}/approve", json={})
        assert (late.status_code, problem_code(late)) == (409, "request/expired")
        assert (await house.client("pit-manager").get("/api/requests")).json() == []


async def test_request_of_a_dealer_whose_assignment_ended_is_not_executed(
    house_in_play: HouseApp,
) -> None:
    request = (await open_request(house_in_play)).json()["id"]
    (post,) = house_in_play.identity.assignments.current(account=house_in_play.id("dealer"))
    house_in_play.identity.assignments.end(post.id)
    response = await house_in_play.client("pit-manager").post(
        f"/api/requests/{request}/approve", json={}
    )
    assert (response.status_code, problem_code(response)) == (403, "door/role")


async def test_only_two_person_commands_can_be_requested(house_in_play: HouseApp) -> None:
    single = await open_request(house_in_play, command={"type": "CloseBetting"})
    assert (single.status_code, problem_code(single)) == (422, "input/wrong")
    assert (await open_request(house_in_play, command={"type": "SetLimits"})).status_code == 422
    assert problem_code(await open_request(house_in_play, "player")) == "door/role"
    forged = {**new_limits(), "by": {"id": house_in_play.id("pit-manager"), "role": "pit-manager"}}
    assert problem_code(await open_request(house_in_play, command=forged)) == "door/by"
    missing = await house_in_play.client("pit-manager").post(
        "/api/requests/nothing/approve", json={}
    )
    assert (missing.status_code, problem_code(missing)) == (404, "unknown/id")
