"""Two-person commands: requested by one account, approved by another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.api.house_app import DEALER, open_house_app, problem_code, seat_players
from tests.house.house_driver import People
from tests.identity.identity_cluster import SteppedClock
from threedice import load
from threedice.api.routes import request_queries
from threedice.house.commands import EstablishTable
from threedice.table.commands import Actor, BuyIn, PlaceBet
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


@pytest.mark.clause("nz-tai-sai-2008 6.1", "nz-tai-sai-2008 6.4", "nz-tai-sai-2008 7.2")
async def test_game_supervisor_takes_steps_and_approves_an_amendment_where_it_is_a_role() -> None:
    async with open_house_app() as house:
        await seat_players(
            house,
            betting=False,
            game_id="nz-tai-sai-2008/1",
            readings={"supervisors": "two"},
        )
        for who in ("dealer", "game-supervisor", "supervisor"):
            house.assign(who)
        tumble = {"type": "Tumble", "times": 3}
        assert problem_code(await house.send("supervisor", tumble)) == "role/not-allowed"
        assert (await house.send("game-supervisor", tumble)).status_code == 200
        for step in ("OpenBetting", "CloseBetting", "Uncover"):
            assert (await house.send("dealer", {"type": step})).status_code == 200
        assert (
            await house.send("game-supervisor", {"type": "CallResult", "dice": [6, 5, 4]})
        ).status_code == 200
        for key in (1, 2, 3):
            await house.send("game-supervisor", {"type": "PressKey", "key": key})
        await house.send("game-supervisor", {"type": "PressEnter"})
        amend = {"type": "AmendResult", "dice": [6, 5, 4]}
        request = (await open_request(house, command=amend)).json()
        assert request["roles"] == ["game-supervisor"]

        path = f"/api/requests/{request['id']}/approve"
        refused = await house.client("supervisor").post(path, json={})
        assert (refused.status_code, problem_code(refused)) == (403, "request/role")
        approved = await house.client("game-supervisor").post(path, json={})
        (event,) = approved.json()["events"]
        assert (event["type"], event["approved_by"]["role"]) == ("ResultAmended", "game-supervisor")


async def test_game_supervisor_has_no_part_in_a_game_without_that_role(
    house_in_play: HouseApp,
) -> None:
    house_in_play.assign("game-supervisor")
    for command in (
        {"type": "CloseBetting"},
        {"type": "Report", "irregularity": "walked-away"},
        {"type": "AmendResult", "dice": [1, 2, 3]},
        {"type": "RejectExcess", "box": "big"},
        {"type": "ReleaseTable", "reason": "mended"},
    ):
        refused = await house_in_play.send("game-supervisor", command)
        assert problem_code(refused) in {"role/not-allowed", "door/role", "door/second-person"}


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
    unchanged = await house_in_play.get("dealer", f"/api/requests/{request}")
    assert (unchanged["state"], unchanged["decided_by"]) == ("pending", "")


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


@pytest.mark.clause("nz-tai-sai-2008 4.3")
async def test_chips_on_the_line_are_rejected_after_the_call_on_request(house: HouseApp) -> None:
    await seat_players(house, game_id="nz-tai-sai-2008/1", betting=False)
    house.assign("supervisor")
    people, player = People(house.handler), house.id("player")
    await people.play("open betting")
    await people.send(PlaceBet(by=DEALER, player=player, box="big", amount=100, manner="behalf"))
    await people.play("close betting", "uncover the dice", "call 6 5 4")
    reject = {
        "type": "JudgeLine", "player": player, "box": "big", "amount": 100, "accepted": False,
    }  # fmt: skip
    assert problem_code(await house.send("supervisor", reject)) == "role/second-person"

    approved = await house.approve("pit-manager", await house.request("supervisor", reject))
    (judged,) = approved.json()["events"]
    assert judged["approved_by"] == {"id": house.id("pit-manager"), "role": "pit-manager"}


@pytest.mark.clause("sg-rws-tai-sai-v6 5.4.2")
async def test_round_whose_dice_lie_open_is_abandoned_on_request(house: HouseApp) -> None:
    await seat_players(house)
    house.assign("dealer")
    house.assign("supervisor")
    await People(house.handler).play("close betting", "tumbles 3 times", "uncover the dice")
    abandon = {"type": "AbandonRound", "reason": "a sleeve swept the dice away"}
    assert problem_code(await house.send("dealer", abandon)) == "role/second-person"

    approved = await house.approve("supervisor", await house.request("dealer", abandon))
    (voided,) = approved.json()["events"]
    assert (voided["type"], voided["approved_by"]["id"]) == ("RoundVoided", house.id("supervisor"))


@pytest.mark.clause("sg-rws-tai-sai-v6 5.5", "sg-rws-tai-sai-v6 5.12")
@pytest.mark.parametrize(
    "irregularity", ["dice-not-flat", "too-few-tumbles", "exposed-before-close", "interruption"]
)
@pytest.mark.parametrize("who", ["dealer", "supervisor", "pit-manager"])
async def test_one_person_does_not_return_bets_that_open_dice_have_decided(
    who: str, irregularity: str
) -> None:
    async with open_house_app() as house:
        await seat_players(house)
        house.assign("dealer")
        house.assign("supervisor")
        await house.bet("player", 100, "big")
        await People(house.handler).play("close betting", "tumbles 3 times", "uncover the dice")
        report = {"type": "Report", "irregularity": irregularity}

        (stopped,) = (await house.send(who, report)).json()["events"]

        assert (stopped["type"], stopped["by"]["id"]) == ("RoundStopped", house.id(who))
        view = await house.get("player", "/api/tables/1")
        assert view["round"]["stopped"]["cause"] == irregularity
        assert view["seats"][house.id("player")]["at_risk"] == 100
        assert problem_code(await house.send(who, report)) == "role/second-person"
        call = {"type": "CallResult", "dice": [6, 5, 4]}
        assert problem_code(await house.send("dealer", call)) == "round/stopped"
        close = await house.send("supervisor", {"type": "CloseTable"})
        assert problem_code(close) == "table/round-open"


async def test_a_stopped_round_goes_on_by_another_persons_decision(
    house_in_play: HouseApp,
) -> None:
    await People(house_in_play.handler).play("close betting", "tumbles 3 times", "uncover the dice")
    report = {"type": "Report", "irregularity": "dice-not-flat"}
    await house_in_play.send("supervisor", report)
    resume = {"type": "ResumeRound", "reason": "it is flat"}

    assert problem_code(await house_in_play.send("dealer", resume)) == "door/role"
    assert problem_code(await house_in_play.send("supervisor", resume)) == "role/same-person"
    (resumed,) = (await house_in_play.send("pit-manager", resume)).json()["events"]

    assert (resumed["type"], resumed["cause"]) == ("RoundResumed", "dice-not-flat")
    assert (await house_in_play.get("player", "/api/tables/1"))["round"]["stopped"] is None


async def test_a_round_is_neither_abandoned_nor_resumed_between_rounds(house: HouseApp) -> None:
    await seat_players(house, betting=False)
    house.assign("dealer")
    house.assign("supervisor")
    abandon = {"type": "AbandonRound", "reason": "the lights went out"}
    assert problem_code(await house.send("dealer", abandon)) == "round/none"
    resume = {"type": "ResumeRound", "reason": "it is flat"}
    assert problem_code(await house.send("supervisor", resume)) == "round/none"


@pytest.mark.clause("nz-tai-sai-2008 4.9")
async def test_chips_without_a_recorded_move_are_put_back_after_the_call_on_request(
    house: HouseApp,
) -> None:
    await seat_players(house, game_id="nz-tai-sai-2008/1", betting=False)
    house.assign("supervisor")
    people, player = People(house.handler), house.id("player")
    await people.play("open betting")
    await people.send(PlaceBet(by=DEALER, player=player, box="small", amount=100, manner="behalf"))
    await people.play("close betting", "uncover the dice", "call 6 5 4")
    put_back = {
        "type": "PutBack", "player": player, "box": "small", "to_box": "big", "amount": 100,
        "moved_by": "patron",
    }  # fmt: skip
    assert problem_code(await house.send("supervisor", put_back)) == "role/second-person"

    approved = await house.approve("pit-manager", await house.request("supervisor", put_back))
    (event,) = approved.json()["events"]
    assert event["approved_by"] == {"id": house.id("pit-manager"), "role": "pit-manager"}


async def test_only_managers_approve_where_the_reading_says_so(house: HouseApp) -> None:
    readings = {"approvals": "managers"}
    by = Actor(id="console", role="supervisor")
    table = EstablishTable(by=by, game="sg-rws-tai-sai-v6/a", readings=readings)
    await house.handler.handle(table, table="1", account="console", key="set-up")
    house.assign("supervisor")
    house.assign("dealer")

    request = await house.request("dealer", new_limits())

    assert request.json()["roles"] == ["pit-manager", "shift-manager"]
    assert problem_code(await house.approve("supervisor", request)) == "request/role"


# --- requests for the round in play --------------------------------------------------------------

AMEND = {"type": "AmendResult", "dice": [1, 1, 2]}
TO_THE_CALL = ("close betting", "tumbles 3 times", "uncover the dice", "call 6 5 4")


@pytest.fixture
async def house_after_call(house: HouseApp) -> HouseApp:
    """Open a house whose first round has been called: 6 5 4, with a bet on big."""
    await seat_players(house)
    house.assign("dealer")
    house.assign("supervisor")
    people = People(house.handler)
    await people.send(bet_on_big(house))
    await people.play(*TO_THE_CALL)
    return house


def bet_on_big(house: HouseApp) -> PlaceBet:
    return PlaceBet(by=DEALER, player=house.id("player"), box="big", amount=100, manner="behalf")


async def play_on(house: HouseApp) -> None:
    """Settle the round, and play the next one to its call."""
    people = People(house.handler)
    await people.play("collect the losers", "pay the winners", "open betting")
    await people.send(bet_on_big(house))
    await people.play("close betting", "tumbles 3 times", "uncover the dice", "call 6 6 4")


@pytest.mark.parametrize(
    "command", ["AbandonRound", "AmendResult", "JudgeLine", "PutBack", "Report"]
)
async def test_request_of_an_earlier_round_is_not_executed_in_a_later_one(
    house_after_call: HouseApp, command: str
) -> None:
    house = house_after_call
    commands: dict[str, dict[str, Any]] = {
        "AbandonRound": {"type": "AbandonRound", "reason": "the dice are lost"},
        "AmendResult": AMEND,
        "JudgeLine": {
            "type": "JudgeLine", "player": house.id("player"), "box": "big", "amount": 100,
            "accepted": False,
        },
        "PutBack": {
            "type": "PutBack", "player": house.id("player"), "box": "big", "to_box": "small",
            "amount": 100, "moved_by": "dealer",
        },
        "Report": {"type": "Report", "irregularity": "dice-damaged"},
    }  # fmt: skip
    request = await house.request("dealer", commands[command])
    assert request.json()["round"] == 1
    assert "at_round" not in request.json()["command"]
    await play_on(house)
    before = house.store.head("table/1")

    refused = await house.approve("supervisor", request)

    assert (refused.status_code, problem_code(refused)) == (409, "request/other-round")
    assert house.store.head("table/1") == before
    path = f"/api/requests/{request.json()['id']}"
    assert (await house.get("dealer", path))["state"] == "pending"
    withdrawn = await house.client("dealer").post(f"{path}/withdraw")
    assert withdrawn.json()["state"] == "withdrawn"


async def test_request_of_the_round_in_play_is_executed_in_it(house_after_call: HouseApp) -> None:
    request = await house_after_call.request("dealer", AMEND)
    approved = await house_after_call.approve("supervisor", request)
    (event,) = approved.json()["events"]
    assert (event["type"], event["dice"]) == ("ResultAmended", [1, 1, 2])

    await play_on(house_after_call)
    again = await house_after_call.approve("supervisor", request)
    assert again.content == approved.content


async def test_effect_of_an_amended_result_is_the_change_of_the_payments(
    house_after_call: HouseApp,
) -> None:
    house = house_after_call
    request = (await house.request("dealer", AMEND)).json()
    path = f"/api/requests/{request['id']}/effect"
    before = house.store.head("table/1")

    effect = await house.get("supervisor", path)

    assert effect == {"players": [{"player": house.id("player"), "amount": -200}], "house": 200}
    assert house.store.head("table/1") == before
    await play_on(house)
    late = await house.client("supervisor").get(path)
    assert (late.status_code, problem_code(late)) == (409, "request/other-round")
    await house.client("dealer").post(f"/api/requests/{request['id']}/withdraw")
    decided = await house.client("supervisor").get(path)
    assert (decided.status_code, problem_code(decided)) == (409, "request/decided")


async def test_effect_of_a_ruling_is_that_with_the_managers_who_may_approve_it(
    house_in_play: HouseApp,
) -> None:
    house = house_in_play
    ruling = {"player": house.id("player"), "amount": 50_000, "reason": "a die fell"}
    request = (await house.request("shift-manager", {"type": "MakeRuling", **ruling})).json()

    effect = await house.get("pit-manager", f"/api/requests/{request['id']}/effect")

    assert effect == {
        "players": [{"player": house.id("player"), "amount": 50_000}],
        "house": -50_000,
    }


async def test_effect_of_new_limits_on_players_is_nothing(house_in_play: HouseApp) -> None:
    request = (await open_request(house_in_play)).json()["id"]
    effect = await house_in_play.get("supervisor", f"/api/requests/{request}/effect")
    assert effect == {"players": [], "house": 0}


async def test_request_says_whether_the_caller_may_decide_it() -> None:
    async with open_house_app() as house:
        await seat_players(house)
        house.assign("dealer")
        house.assign("supervisor", "1")
        house.add_account("other supervisor", "supervisor")
        house.assign("other supervisor", "2", "supervisor")
        await open_request(house)
        for who, may_decide in {
            "dealer": False,
            "auditor": False,
            "supervisor": True,
            "other supervisor": False,
            "pit-manager": True,
        }.items():
            (request,) = await house.get(who, "/api/requests")
            assert (who, request["may_decide"]) == (who, may_decide)


async def test_decided_requests_are_searched_by_text_person_and_table(
    house_in_play: HouseApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    house, path = house_in_play, "/api/requests/decided"
    first, second, third, _pending = [
        (await open_request(house, who)).json()["id"]
        for who in ("dealer", "dealer", "supervisor", "dealer")
    ]
    for who, request in (("supervisor", first), ("pit-manager", third)):
        note = {"note": f"no, says the {who}"}
        await house.client(who).post(f"/api/requests/{request}/decline", json=note)
    await house.client("dealer").post(f"/api/requests/{second}/withdraw")

    async def search(query: str = "") -> list[str]:
        found = await house.get("auditor", f"{path}?{query}")
        return [each["id"] for each in found["requests"]]

    assert await search() == [third, second, first]
    assert await search("text=QUIET") == [third, second, first]
    assert await search("text=says the pit") == [third]
    assert await search("text=SetLimits&person=dealer-name") == [second, first]
    assert await search("person=supervisor-name") == [third, first]
    assert await search("table=2") == []
    (newest, *_) = (await house.get("auditor", path))["requests"]
    assert (newest["decided_by_name"], newest["may_decide"]) == ("pit-manager-name", False)

    page = await house.get("auditor", f"{path}?most=2")
    assert [each["id"] for each in page["requests"]] == [third, second]
    assert await search(f"most=2&before={page['older']}") == [first]
    monkeypatch.setattr(request_queries, "MAX_REQUESTS_SEARCHED", 1)
    page = await house.get("auditor", f"{path}?person=supervisor-name&table=2")
    assert (page["requests"], page["older"]) == ([], newest["opened"])


async def test_request_opened_between_rounds_is_not_executed_in_the_next(
    house_after_call: HouseApp,
) -> None:
    await People(house_after_call.handler).play("collect the losers", "pay the winners")
    request = await house_after_call.request("dealer", AMEND)
    assert request.json()["round"] == 0
    await People(house_after_call.handler).play("open betting", *TO_THE_CALL)

    refused = await house_after_call.approve("supervisor", request)

    assert problem_code(refused) == "request/other-round"


async def test_request_that_concerns_no_round_is_executed_in_a_later_one(
    house_after_call: HouseApp,
) -> None:
    house = house_after_call
    fill = {"type": "FillFloat", "amount": 10_000_000}
    void = {"type": "Report", "irregularity": "dice-damaged", "rounds": [1]}
    requests = [
        await house.request("dealer", new_limits()),
        await house.request("supervisor", fill),
        await house.request("dealer", void),
    ]
    assert [each.json()["round"] for each in requests] == [None] * 3
    await play_on(house)

    for request in requests:
        approved = await house.approve("pit-manager", request)
        assert approved.is_success, approved.text


async def test_report_of_the_last_throw_is_not_executed_once_the_dice_are_thrown_again(
    house: HouseApp,
) -> None:
    await seat_players(house, betting=False, game_id="triple-dice/mat")
    house.assign("dealer")
    house.assign("supervisor")
    people = People(house.handler)
    await people.send(BuyIn(by=DEALER, player="ann", amount=1000, age_years=30))
    await people.play("offer the dice to ann", "ann chooses dice 1 2 3", "open betting")
    await people.play("ann bets 100 on shooter", "dice 1 2 3", "open betting", "close betting")
    report = {"type": "Report", "irregularity": "dice-not-flat"}
    request = await house.request("dealer", report)
    assert request.json()["round"] == 1

    await people.play("ann throws", "call 4 5 6")

    refused = await house.approve("supervisor", request)
    assert problem_code(refused) == "request/other-round"


async def test_refusal_without_a_second_person_names_those_whose_approval_counts_at_the_table(
    house_after_call: HouseApp,
) -> None:
    house = house_after_call
    named = {**AMEND, "approved_by": {"id": house.id("supervisor"), "role": "supervisor"}}
    roles = (await house.request("dealer", AMEND)).json()["roles"]
    for refused in (await house.send("dealer", AMEND), await house.request("dealer", named)):
        assert problem_code(refused) == "door/second-person"
        assert refused.json()["facts"]["allowed"] == ", ".join(roles)
    assert "game-supervisor" not in roles
