"""Chips over the API: a rack opened, filled, counted and closed by two people, and its reports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from tests.api.house_app import problem_code
from threedice import load
from threedice.account.commands import Deposit, OpenAccount
from threedice.api.auth.audiences import event_for_player
from threedice.house.commands import EstablishTable
from threedice.house.events import Timing
from threedice.house.variances import CountPolicy
from threedice.table.commands import Actor
from threedice.table.events import LosersCollected, RackCounted
from threedice.table.limits import uniform_limits

if TYPE_CHECKING:
    from tests.api.house_app import HouseApp

pytestmark = pytest.mark.anyio

GAME = "sg-rws-tai-sai-v6/a"
RACK = {"5": 100, "25": 100, "100": 50}
VALUE = 8000
SUPERVISOR = Actor(id="supervisor", role="supervisor")


def opening(**fields: Any) -> dict[str, Any]:
    limits = msgspec.to_builtins(uniform_limits(load(GAME), 5, 10_000, 10_000))
    return {
        "type": "OpenTable",
        "table": "1",
        "currency": "SGD",
        "mode": "record",
        "chips": [5, 25, 100],
        "float_amount": VALUE,
        "limits": limits,
        "rack": RACK,
        **fields,
    }


async def set_up(house: HouseApp, timing: Timing | None = None) -> None:
    """Set up a table with its staff; it is closed."""
    established = EstablishTable(by=SUPERVISOR, game=GAME, dealt_by_house=timing)
    await house.handler.handle(established, table="1", account="console", key="set-up")
    for who in ("dealer", "supervisor", "pit-manager"):
        house.assign(who)


async def agree(house: HouseApp, command: dict[str, Any]) -> list[dict[str, Any]]:
    """Have the supervisor request a command and the pit manager approve it; return its events."""
    approved = await house.approve("pit-manager", await house.request("supervisor", command))
    assert approved.status_code == 200, approved.text
    found: list[dict[str, Any]] = approved.json()["events"]
    return found


async def open_with_player(house: HouseApp) -> str:
    await set_up(house)
    await agree(house, opening())
    player = house.id("player")
    bought = {"type": "BuyIn", "player": player, "amount": 200, "source": "cash"}
    assert (await house.send("dealer", bought)).status_code == 200
    return player


async def test_an_opener_needs_two_signatures_even_with_known_terms(house: HouseApp) -> None:
    await set_up(house)
    assert problem_code(await house.send("supervisor", opening())) == "door/second-person"

    opened, opener = await agree(house, opening())

    assert opened["chip_moves"] == [["vault", "float", "", RACK]]
    assert (opener["type"], opener["kind"], opener["slip"]) == ("RackCounted", "opener", 1)
    shown = await house.get("dealer", "/api/tables/1/rack")
    assert (shown["deals_in"], shown["rack"], shown["value"]) == ("chips", RACK, VALUE)


async def test_a_small_fill_of_chips_needs_a_second_signature_too(house: HouseApp) -> None:
    await open_with_player(house)
    fill = {"type": "FillFloat", "amount": 50, "counts": {"25": 2}}

    alone = await house.send("supervisor", fill)

    assert problem_code(alone) == "role/second-person"
    (filled,) = await agree(house, fill)
    assert (filled["slip"], filled["chip_moves"]) == (2, [["vault", "float", "", {"25": 2}]])


async def test_the_sheet_proposes_chips_for_each_winner(house: HouseApp) -> None:
    player = await open_with_player(house)
    await house.send("dealer", {"type": "OpenBetting"})
    bet = {"type": "PlaceBet", "player": player, "box": "big", "amount": 130}
    assert (await house.send("player", bet)).status_code == 200
    steps: list[dict[str, Any]] = [
        {"type": "CloseBetting"},
        {"type": "Tumble", "times": 3},
        {"type": "Uncover"},
        {"type": "CallResult", "dice": [6, 5, 4]},
    ]
    for step in steps:
        taken = await house.send("dealer", step)
        assert taken.status_code == 200, taken.text

    sheet = await house.get("dealer", "/api/tables/1/sheet")
    rack = await house.get("dealer", "/api/tables/1/rack")

    assert sheet["pay"][0]["chips"] == {"100": 1, "25": 1, "5": 1}
    assert rack["bets"] == {"big": {player: [["5", 1], ["25", 1], ["100", 1]]}}
    assert rack["stacks"] == {player: {"5": 4, "25": 2}}


async def test_a_missing_chip_is_reported_with_the_roles_to_be_told(house: HouseApp) -> None:
    await open_with_player(house)
    count = {"type": "CountRack", "counted": {"5": 100, "25": 99, "100": 48}, "note": "18:00"}
    assert problem_code(await house.send("supervisor", count)) in (
        "door/second-person",
        "door/malformed",
    )
    await agree(house, count)

    report = await house.get("supervisor", "/api/tables/1/counts")

    slip = report["slips"][-1]
    assert (slip["kind"], slip["variance"], slip["variance_value"]) == ("shift", {"25": -1}, -25)
    assert (slip["over_tolerance"], slip["tell"]) == (True, ["pit-manager", "shift-manager"])
    first, running = report["periods"]
    assert (first["win_by_count"], first["win_by_log"]) == (-25, 0)
    assert (running["end"], running["win_by_count"]) == (0, None)
    shift = await house.get("supervisor", "/api/tables/1/shift")
    assert [each["closed_by"] for each in shift["counted"]] == [2]


async def test_a_closer_and_a_drop_count_end_the_day(house: HouseApp) -> None:
    await open_with_player(house)
    left = {"5": 100, "25": 100, "100": 48}
    await agree(house, {"type": "CloseTable", "counted": left})
    shown = await house.get("supervisor", "/api/tables/1/rack")
    assert (shown["deals_in"], shown["last_closer"]) == ("amounts", left)
    assert shown["uncounted_drops"] == {"1": 200}

    (dropped,) = await agree(house, {"type": "CountDrop", "closing": 1, "notes": {"50": 3}})

    assert (dropped["slip"], dropped["expected"]) == (3, 200)
    report = await house.get("supervisor", "/api/tables/1/counts")
    assert [each["kind"] for each in report["slips"]] == ["opener", "closer", "drop"]
    assert report["periods"][0]["win_by_count"] == -50


async def test_a_table_that_the_house_deals_has_no_rack(house: HouseApp) -> None:
    await set_up(house, Timing(betting_seconds=60))
    approved = await house.approve("pit-manager", await house.request("supervisor", opening()))
    assert problem_code(approved) == "chips/amounts-only"


async def test_players_see_neither_the_rack_nor_the_chips_of_others(house: HouseApp) -> None:
    await open_with_player(house)
    for path in ("rack", "counts"):
        assert (await house.client("player").get(f"/api/tables/1/{path}")).status_code == 403
    by = Actor(id="s", role="supervisor")
    counted = RackCounted(kind="shift", slip=2, counted={}, expected={}, by=by, approved_by=by)
    assert event_for_player(counted, "ann") is None
    moves = [
        ("bet/big/ann", "float", "ann", {"5": 1}),
        ("bet/big/bob", "float", "bob", {"25": 1}),
    ]
    lost = LosersCollected(bets=[("big", "ann", 5), ("big", "bob", 25)], chip_moves=moves)
    seen = event_for_player(lost, "ann")
    assert seen is not None
    assert seen.chip_moves == moves[:1]


async def test_table_that_dealt_in_chips_opens_in_amounts_only_with_two_people(
    house: HouseApp,
) -> None:
    await set_up(house)
    await agree(house, opening())
    await agree(house, {"type": "CloseTable", "counted": RACK})
    amounts = opening()
    del amounts["rack"]
    assert problem_code(await house.send("supervisor", amounts)) == "door/second-person"
    (opened,) = await agree(house, amounts)
    assert "chip_moves" not in opened


# --- counts that wait for a signature -----------------------------------------------------------


@pytest.mark.parametrize("kind", ["CountRack", "CloseTable"])
async def test_count_is_not_signed_once_the_rack_has_changed(house: HouseApp, kind: str) -> None:
    player = await open_with_player(house)
    command = {"type": kind, "counted": {"5": 100, "25": 100, "100": 48}}
    request = await house.request("supervisor", command)
    assert request.json()["command"].keys() == {*command, "by"}
    bought = {"type": "BuyIn", "player": player, "amount": 100, "source": "cash"}
    assert (await house.send("dealer", bought)).status_code == 200
    before = house.store.head("table/1")

    late = await house.approve("pit-manager", request)
    effect = await house.client("pit-manager").get(f"/api/requests/{request.json()['id']}/effect")

    assert (late.status_code, problem_code(late)) == (409, "request/other-rack")
    assert problem_code(effect) == "request/other-rack"
    assert house.store.head("table/1") == before
    await agree(house, command | {"counted": {"5": 100, "25": 100, "100": 47}})


async def test_opener_is_not_signed_once_the_table_was_open_in_between(house: HouseApp) -> None:
    await set_up(house)
    request = await house.request("supervisor", opening())
    await agree(house, opening())
    while_open = await house.approve("pit-manager", request)
    assert problem_code(while_open) == "table/already-open"
    left = RACK | {"100": 40}
    await agree(house, {"type": "CloseTable", "counted": left})

    late = await house.approve("pit-manager", request)

    assert (late.status_code, problem_code(late)) == (409, "request/other-rack")
    again = await house.request("supervisor", opening(rack=left, float_amount=VALUE - 1000))
    assert (await house.approve("pit-manager", again)).status_code == 200


async def test_opener_in_amounts_concerns_no_rack(house: HouseApp) -> None:
    await set_up(house)
    await agree(house, opening())
    amounts = opening()
    del amounts["rack"]
    request = await house.request("supervisor", amounts)
    await agree(house, {"type": "CloseTable", "counted": RACK | {"100": 40}})
    approved = await house.approve("pit-manager", request)
    assert approved.status_code == 200, approved.text


async def test_count_is_signed_once_also_if_the_approval_is_repeated(house: HouseApp) -> None:
    await open_with_player(house)
    request = await house.request("supervisor", SHORT)
    approved = await house.approve("pit-manager", request)
    assert approved.status_code == 200, approved.text

    again = await house.approve("pit-manager", request)

    assert again.content == approved.content


# --- texts of refusals --------------------------------------------------------------------------


async def test_refusal_that_begins_with_a_name_leaves_it_as_it_is(house: HouseApp) -> None:
    await set_up(house)
    await agree(house, opening())
    repaid = {"type": "RepayDebt", "player": "ann", "amount": 5, "source": "cash"}
    refused = await house.send("dealer", repaid)
    assert refused.json()["detail"] == "ann owes 0; 5 cannot be repaid"
    await agree(house, {"type": "CloseTable", "counted": RACK})
    drop = {"type": "CountDrop", "closing": 1, "notes": {"fifty": 1}}
    unknown = await house.approve("pit-manager", await house.request("supervisor", drop))
    assert unknown.json()["detail"].startswith("fifty is no value")


async def test_wrong_word_is_named_with_its_field(house: HouseApp) -> None:
    player = await open_with_player(house)
    taken = {"type": "CashOut", "player": player, "amount": 5, "to": "account"}
    refused = await house.send("dealer", taken)
    assert refused.json()["detail"] == "`to` must be outside here, not account"


async def test_change_that_no_fill_makes_possible_advises_another_amount(house: HouseApp) -> None:
    player = await open_with_player(house)
    change = {"type": "ChangeChips", "player": player, "amount": 50, "into": 5}
    refused = await house.send("dealer", change)
    assert problem_code(refused) == "chips/change"
    assert "choose another amount, or ask for a fill" in refused.json()["detail"]


# --- refusals that players read -----------------------------------------------------------------


async def fund(house: HouseApp, amount: int) -> None:
    for command in (
        OpenAccount(by="console", player=house.id("player"), currency="SGD"),
        Deposit(by="console", player=house.id("player"), amount=amount),
    ):
        await house.handler.handle(command, account="console", key=type(command).__name__)


@pytest.mark.parametrize(
    ("amount", "counts"),
    [(VALUE + 25, None), (2525, {"25": 101}), (1025, {"25": 41}), (505, {"5": 101})],
)
async def test_refused_purchase_tells_a_player_nothing_of_the_rack(
    house: HouseApp, amount: int, counts: dict[str, int] | None
) -> None:
    await set_up(house)
    await agree(house, opening(rack=RACK | {"25": 40}, float_amount=VALUE - 1500))
    await fund(house, 10_000)
    bought = {"type": "BuyIn", "player": house.id("player"), "amount": amount, "source": "account"}
    refused = await house.send("player", bought | ({"counts": counts} if counts else {}))
    assert (problem_code(refused), refused.json()["facts"]) == ("chips/rack", {"amount": amount})


async def test_player_without_the_money_does_not_learn_what_the_float_can_sell(
    house: HouseApp,
) -> None:
    await set_up(house)
    await agree(house, opening())
    await fund(house, 100)
    bought = {"type": "BuyIn", "player": house.id("player"), "source": "account"}
    answers = [await house.send("player", bought | {"amount": each}) for each in (105, VALUE + 5)]
    assert [problem_code(each) for each in answers] == ["cage/balance"] * 2


# --- the rack of the house file -----------------------------------------------------------------


async def plan_rack(house: HouseApp, **changes: Any) -> None:
    """Set up a table of the house file with a rack that the cage issues; it is closed."""
    table = msgspec.structs.replace(
        house.context.config.tables["1"],
        **{"game": GAME, "chips": [5, 25, 100], "float": None, "rack": RACK, **changes},
    )
    house.context.config = msgspec.structs.replace(house.context.config, tables={"1": table})
    await set_up(house)


async def test_first_opener_is_compared_with_the_rack_of_the_house_file(house: HouseApp) -> None:
    await plan_rack(house)
    short = RACK | {"25": 99}
    shown = await house.get("supervisor", "/api/tables/1/rack")
    assert (shown["planned"]["chips"], shown["planned"]["mode"]) == ([5, 25, 100], "refuse")
    assert "rack" not in shown["planned"]

    await agree(house, opening(rack=short, float_amount=VALUE - 25))

    (slip,) = (await house.get("supervisor", "/api/tables/1/counts"))["slips"]
    assert (slip["counts"], slip["expected"], slip["variance"]) == (short, RACK, {"25": -1})
    assert [each["slip"] for each in await variances_for(house, "pit-manager")] == [1]
    shown = await house.get("supervisor", "/api/tables/1/rack")
    assert (shown["rack"], shown["planned"]) == (short, None)


async def test_last_closer_counts_more_than_the_house_file(house: HouseApp) -> None:
    await plan_rack(house)
    await agree(house, opening())
    left = RACK | {"5": 90}
    await agree(house, {"type": "CloseTable", "counted": left})
    assert (await house.get("supervisor", "/api/tables/1/rack"))["planned"] is None

    _, opener = await agree(house, opening(rack=left, float_amount=VALUE - 50))

    assert (opener["counted"], opener["expected"]) == (left, left)


async def test_other_chips_than_those_of_the_house_file_have_no_issued_rack(
    house: HouseApp,
) -> None:
    await plan_rack(house, rack={"5": 100}, chips=[5, 50])
    _, opener = await agree(house, opening())
    assert opener["expected"] == RACK


async def test_table_that_plays_another_game_than_the_house_file_has_no_issued_rack(
    house: HouseApp,
) -> None:
    await plan_rack(house, game="sg-rws-tai-sai-v6/c", rack=RACK | {"25": 99})
    assert (await house.get("supervisor", "/api/tables/1/rack"))["planned"] is None
    _, opener = await agree(house, opening())
    assert opener["expected"] == RACK


async def test_table_that_was_open_in_amounts_is_not_planned_by_the_house_file(
    house: HouseApp,
) -> None:
    await plan_rack(house)
    in_amounts = opening()
    del in_amounts["rack"]
    await agree(house, in_amounts)
    await agree(house, {"type": "CloseTable"})
    assert (await house.get("supervisor", "/api/tables/1/rack"))["planned"] is None


async def test_table_with_a_rack_in_the_house_file_opens_in_amounts_only_with_two_people(
    house: HouseApp,
) -> None:
    await plan_rack(house)
    planned = (await house.get("supervisor", "/api/tables/1/rack"))["planned"]
    amounts = opening(mode=planned["mode"], limits=planned["limits"])
    del amounts["rack"]
    assert problem_code(await house.send("supervisor", amounts)) == "door/second-person"


async def test_table_that_is_set_up_for_another_game_has_no_issued_rack(house: HouseApp) -> None:
    """The house file has a rack with colours, which the game that is played now does not have."""
    colours = RACK | {"red": 10}
    await plan_rack(house, game="nz-tai-sai-2008/1", rack=colours)
    _, opener = await agree(house, opening())
    assert opener["expected"] == RACK


async def test_people_do_not_say_what_the_cage_issued(house: HouseApp) -> None:
    await plan_rack(house)
    for answer in (
        await house.send("supervisor", opening(issued=RACK)),
        await house.request("supervisor", opening(issued=RACK)),
    ):
        assert (answer.status_code, problem_code(answer)) == (422, "door/form")


# --- variances ----------------------------------------------------------------------------------

SHORT = {"type": "CountRack", "counted": {"5": 100, "25": 99, "100": 48}, "note": "18:00"}


async def variances_for(house: HouseApp, who: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = await house.get(who, "/api/variances")
    return found


async def test_variance_waits_for_each_person_whose_role_the_house_informs(house: HouseApp) -> None:
    await open_with_player(house)
    await agree(house, SHORT)

    (notice,) = await variances_for(house, "pit-manager")
    assert (notice["table"], notice["slip"], notice["kind"]) == ("1", 2, "shift")
    assert (notice["chips"], notice["value"], notice["currency"]) == ({"25": -1}, -25, "SGD")
    assert await variances_for(house, "supervisor") == []

    acknowledged = await house.send("pit-manager", {"type": "AcknowledgeVariance", "slip": 2})
    assert acknowledged.status_code == 200, acknowledged.text
    assert await variances_for(house, "pit-manager") == []
    assert await variances_for(house, "shift-manager") == [notice]
    slip = (await house.get("supervisor", "/api/tables/1/counts"))["slips"][1]
    (person,) = slip["acknowledged"]
    assert (person["by"]["id"], person["by"]["role"]) == (house.id("pit-manager"), "pit-manager")
    assert (person["name"], person["at"] >= slip["at"]) == ("pit-manager-name", True)


async def test_variance_within_the_tolerance_informs_nobody(house: HouseApp) -> None:
    policy = CountPolicy(tolerance=25)
    house.context.config = msgspec.structs.replace(house.context.config, counts=policy)
    await open_with_player(house)
    await agree(house, SHORT)
    assert await variances_for(house, "pit-manager") == []


async def test_house_may_inform_supervisors_of_the_tables_where_they_work(house: HouseApp) -> None:
    policy = CountPolicy(tell=("supervisor",))
    house.context.config = msgspec.structs.replace(house.context.config, counts=policy)
    await open_with_player(house)
    await agree(house, SHORT)
    house.add_account("other supervisor", "supervisor")
    assert len(await variances_for(house, "supervisor")) == 1
    assert await variances_for(house, "pit-manager") == []
    assert await variances_for(house, "other supervisor") == []


async def test_new_staff_are_not_informed_of_variances_before_their_time(house: HouseApp) -> None:
    await open_with_player(house)
    await agree(house, SHORT)
    house.add_account("new manager", "pit-manager")
    assert await variances_for(house, "new manager") == []
    await agree(house, SHORT | {"counted": {"5": 99, "25": 99, "100": 48}})
    assert [each["slip"] for each in await variances_for(house, "new manager")] == [3]


async def test_drop_that_is_short_is_a_variance_of_its_closing(house: HouseApp) -> None:
    await open_with_player(house)
    await agree(house, {"type": "CloseTable", "counted": {"5": 100, "25": 100, "100": 48}})
    await agree(house, {"type": "CountDrop", "closing": 1, "notes": {"50": 3}})
    (notice,) = await variances_for(house, "shift-manager")
    assert (notice["kind"], notice["closing"], notice["chips"]) == ("drop", 1, {})
    assert notice["value"] == -50


async def test_dealers_acknowledge_nothing_and_an_exact_count_needs_no_acknowledgement(
    house: HouseApp,
) -> None:
    await open_with_player(house)
    await agree(house, SHORT)
    command = {"type": "AcknowledgeVariance", "slip": 2}
    assert problem_code(await house.send("dealer", command)) == "door/role"
    assert (await house.client("dealer").get("/api/variances")).status_code == 403
    assert problem_code(await house.send("pit-manager", command | {"slip": 1})) == (
        "floor/no-variance"
    )
