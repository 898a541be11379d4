"""Two-person actions really take two people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.api.setting import opened, seat
from tests.api.test_authorisation import code
from tests.identity.identity_cluster import SteppedClock
from threedice import load
from threedice.table.limits import uniform_limits

if TYPE_CHECKING:
    import httpx

    from tests.api.setting import Setting

pytestmark = pytest.mark.anyio


def new_limits() -> dict[str, Any]:
    limits = uniform_limits(load("sg-rws-tai-sai-v6/a"), 5, 500, 500)
    families = {
        name: {"minimum": each.minimum, "maximum": each.maximum}
        for name, each in limits.families.items()
    }
    command = {"families": families, "differential": limits.differential}
    return {"type": "SetLimits", "limits": command}


async def ask_for(
    setting: Setting, who: str = "dealer", command: dict[str, Any] | None = None
) -> httpx.Response:
    body = {"command": command or new_limits(), "reason": "a quiet night"}
    return await setting.client(who).post("/api/tables/1/requests", json=body)


async def test_supervisor_approves_the_request_of_a_dealer(playing: Setting) -> None:
    opened = await ask_for(playing)
    assert opened.status_code == 201, opened.text
    request = opened.json()
    assert request["command"]["by"] == {"id": playing.id("dealer"), "role": "dealer"}
    assert "approved_by" not in request["command"]
    pending = (await playing.client("auditor").get("/api/requests?table=1")).json()
    assert [each["id"] for each in pending] == [request["id"]]

    path = f"/api/requests/{request['id']}/approve"
    done = await playing.client("supervisor").post(path, json={"note": "fine"})
    assert done.status_code == 200, done.text
    (event,) = done.json()["events"]
    assert event["type"] == "LimitsSet"
    assert event["by"] == {"id": playing.id("dealer"), "role": "dealer"}
    assert event["approved_by"] == {"id": playing.id("supervisor"), "role": "supervisor"}
    after = (await playing.client("dealer").get(f"/api/requests/{request['id']}")).json()
    assert (after["state"], after["decided_by"]) == ("approved", playing.id("supervisor"))
    assert (await playing.client("dealer").get("/api/requests")).json() == []


async def test_approver_named_in_the_request_body_is_refused(playing: Setting) -> None:
    named = {**new_limits(), "approved_by": {"id": playing.id("supervisor"), "role": "supervisor"}}
    before = playing.context.house.command_handler.store.head("table/1")
    for who in ("dealer", "supervisor", "pit-manager"):
        sent = await playing.send(who, named)
        assert (sent.status_code, code(sent)) == (403, "door/second-person")
        assert code(await ask_for(playing, who, named)) == "door/second-person"
    assert code(await playing.send("dealer", new_limits())) == "door/second-person"
    report = {
        "type": "Report",
        "irregularity": "dice-damaged",
        "approved_by": named["approved_by"],
    }
    assert code(await playing.send("dealer", report)) == "door/second-person"
    assert playing.context.house.command_handler.store.head("table/1") == before


async def test_requester_cannot_decide_their_own_request(playing: Setting) -> None:
    request = (await ask_for(playing, "supervisor")).json()["id"]
    for decision in ("approve", "decline"):
        own = await playing.client("supervisor").post(
            f"/api/requests/{request}/{decision}", json={}
        )
        assert (own.status_code, code(own)) == (403, "request/own")
    other = await playing.client("pit-manager").post(f"/api/requests/{request}/approve", json={})
    assert other.status_code == 200, other.text


async def test_approval_requires_an_approving_role_at_the_table() -> None:
    async with opened() as setting:
        await seat(setting)
        setting.assign("dealer")
        setting.assign("supervisor", "2")
        setting.add("second dealer", "dealer")
        setting.assign("second dealer", "1", "dealer")
        request = (await ask_for(setting)).json()["id"]
        path = f"/api/requests/{request}/approve"
        for who, expected in (
            ("supervisor", "request/role"),
            ("second dealer", "door/role"),
            ("auditor", "door/role"),
            ("administrator", "door/role"),
            ("player", "door/role"),
        ):
            refused = await setting.client(who).post(path, json={})
            assert (refused.status_code, code(refused)) == (403, expected)
        assert (await setting.client("shift-manager").post(path, json={})).status_code == 200


async def test_approving_a_request_twice_executes_its_command_once(playing: Setting) -> None:
    request = (await ask_for(playing)).json()["id"]
    path = f"/api/requests/{request}/approve"
    first = await playing.client("supervisor").post(path, json={})
    version = playing.context.house.command_handler.store.head("table/1").version
    again = await playing.client("supervisor").post(path, json={})
    assert again.content == first.content
    assert playing.context.house.command_handler.store.head("table/1").version == version
    other = await playing.client("pit-manager").post(path, json={})
    assert (other.status_code, code(other)) == (409, "request/decided")


async def test_approved_command_against_the_rules_is_refused(playing: Setting) -> None:
    amend = {"type": "AmendResult", "dice": [1, 2, 3]}
    request = (await ask_for(playing, command=amend)).json()["id"]
    response = await playing.client("supervisor").post(f"/api/requests/{request}/approve", json={})
    assert response.status_code == 409
    assert code(response) == "dice/not-called"


async def test_declined_and_withdrawn_requests_are_never_executed(playing: Setting) -> None:
    before = playing.context.house.command_handler.store.head("table/1")
    declined, withdrawn = [(await ask_for(playing)).json()["id"] for _ in range(2)]
    no = await playing.client("supervisor").post(
        f"/api/requests/{declined}/decline", json={"note": "no"}
    )
    assert (no.json()["state"], no.json()["note"]) == ("declined", "no")
    stranger = await playing.client("supervisor").post(f"/api/requests/{withdrawn}/withdraw")
    assert code(stranger) == "request/not-own"
    back = await playing.client("dealer").post(f"/api/requests/{withdrawn}/withdraw")
    assert back.json()["state"] == "withdrawn"
    for request in (declined, withdrawn):
        late = await playing.client("pit-manager").post(f"/api/requests/{request}/approve", json={})
        assert (late.status_code, code(late)) == (409, "request/decided")
    assert playing.context.house.command_handler.store.head("table/1") == before


async def test_request_cannot_be_approved_after_it_expired() -> None:
    clock = SteppedClock()
    async with opened(clock=clock) as setting:
        await seat(setting)
        setting.assign("dealer")
        request = (await ask_for(setting)).json()["id"]
        clock.move(16 * 60)
        setting.tokens.clear()
        late = await setting.client("pit-manager").post(f"/api/requests/{request}/approve", json={})
        assert (late.status_code, code(late)) == (409, "request/expired")
        assert (await setting.client("pit-manager").get("/api/requests")).json() == []


async def test_request_of_a_dealer_whose_assignment_ended_is_not_executed(playing: Setting) -> None:
    request = (await ask_for(playing)).json()["id"]
    (post,) = playing.people.assignments.current(account=playing.id("dealer"))
    playing.people.assignments.end(post.id)
    response = await playing.client("pit-manager").post(f"/api/requests/{request}/approve", json={})
    assert (response.status_code, code(response)) == (403, "door/role")


async def test_only_two_person_commands_can_be_requested(playing: Setting) -> None:
    single = await ask_for(playing, command={"type": "CloseBetting"})
    assert (single.status_code, code(single)) == (422, "input/wrong")
    assert (await ask_for(playing, command={"type": "SetLimits"})).status_code == 422
    assert code(await ask_for(playing, "player")) == "door/role"
    forged = {**new_limits(), "by": {"id": playing.id("pit-manager"), "role": "pit-manager"}}
    assert code(await ask_for(playing, command=forged)) == "door/by"
    missing = await playing.client("pit-manager").post("/api/requests/nothing/approve", json={})
    assert (missing.status_code, code(missing)) == (404, "unknown/id")
