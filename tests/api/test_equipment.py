"""Equipment over the API: commands, the register, histories and proposals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from tests.api.house_app import seat_players
from threedice.api.auth.audiences import event_for_player
from threedice.table.commands import Actor
from threedice.table.events import PieceFailed

if TYPE_CHECKING:
    from tests.api.house_app import HouseApp

pytestmark = pytest.mark.anyio

DICE = [{"serial": f"A{number}", "colour": "red"} for number in (1, 2, 3)]


async def equip(house: HouseApp) -> None:
    """Seat players at a table with a set of dice, a tumbler and no terminal."""
    await seat_players(house, betting=False)
    house.assign("dealer")
    house.assign("supervisor")
    sent: list[dict[str, Any]] = [
        {"type": "RegisterPiece", "piece": "d-1", "kind": "dice", "dice": DICE, "seal": "s-1"},
        {"type": "InstallDice", "piece": "d-1", "seen": "s-1"},
        {"type": "RegisterPiece", "piece": "t-1", "kind": "tumbler", "serial": "T9"},
        {"type": "OmitEquipment", "kind": "terminal"},
    ]
    for command in sent:
        accepted = await house.send("supervisor", command)
        assert accepted.status_code == 200, accepted.text


async def play_round(house: HouseApp) -> None:
    assert (await house.send("dealer", {"type": "OpenBetting"})).status_code == 200
    await house.finish_round()


async def test_staff_see_the_register_and_players_do_not(house: HouseApp) -> None:
    await equip(house)

    shown = await house.get("dealer", "/api/tables/1/equipment")

    assert [(each["piece"], each["condition"], each["in_use"]) for each in shown["pieces"]] == [
        ("d-1", "in-order", True),
        ("t-1", "in-order", True),
    ]
    assert shown["pieces"][0]["dice"] == DICE
    assert (shown["omitted"], shown["lamps"], shown["checks"]) == (["terminal"], 50, [])
    assert (await house.client("player").get("/api/tables/1/equipment")).status_code == 403
    assert (
        await house.send("dealer", {"type": "OmitEquipment", "kind": "lights"})
    ).status_code == 403


def test_players_see_the_steps_that_a_failure_leaves_out_and_not_the_piece() -> None:
    by = Actor(id="d", role="dealer")
    failed = PieceFailed(piece="t-1", cause="interruption", skipped=["enter-result"], by=by)

    assert event_for_player(failed, "ann") == replace(failed, piece="")


async def test_round_leaves_out_the_steps_with_equipment_that_the_table_has_not(
    house: HouseApp,
) -> None:
    await equip(house)
    await house.send("dealer", {"type": "OpenBetting"})

    view = await house.get("dealer", "/api/tables/1")

    assert view["round"]["skipped"] == ["enter-result", "illuminate"]
    assert set(view["round"]["skipped"]) <= set(view["round"]["done"])


async def test_log_tells_what_served_a_round_and_which_rounds_damaged_dice_affect(
    house: HouseApp,
) -> None:
    await equip(house)
    await play_round(house)
    await house.send("supervisor", {"type": "InspectDice", "piece": "d-1", "good": True})
    await play_round(house)
    await play_round(house)

    served = await house.get("dealer", "/api/tables/1/rounds/2/equipment")
    assert [each["piece"] for each in served["pieces"]] == ["d-1", "t-1"]
    assert served["pieces"][0]["dice"] == ["A1", "A2", "A3"]
    path = "/api/tables/1/equipment/d-1/affected-rounds"
    assert (await house.get("dealer", path))["rounds"] == [2, 3]
    assert (await house.get("dealer", f"{path}?damaged=2"))["rounds"] == [2, 3]
    assert (await house.client("dealer").get("/api/tables/1/rounds/9/equipment")).status_code == 404

    life = await house.get("supervisor", "/api/tables/1/equipment/d-1")
    kinds = [each["event"]["type"] for each in life["events"]]
    assert kinds == ["PieceRegistered", "DiceInstalled", "DiceInspected"]
    assert life["prose"][-1] == "The supervisor inspects the dice d-1, good."
    assert all(each["event"]["by"]["id"] == house.id("supervisor") for each in life["events"])
    assert life["names"] == {house.id("supervisor"): "supervisor-name"}
    assert (await house.client("supervisor").get("/api/tables/1/equipment/d-9")).status_code == 404


async def test_results_of_a_running_test_are_shown_until_it_ends(house: HouseApp) -> None:
    await seat_players(house, betting=False)
    house.assign("supervisor")
    await house.send("supervisor", {"type": "StartTest"})
    for keys in ([6, 2, 1], [3, 3, 4], [1, 2, 6]):
        await house.send("supervisor", {"type": "EnterTrial", "keys": keys, "lit": []})

    assert (await house.get("supervisor", "/api/tables/1/equipment"))["tried"] == [
        [1, 2, 6],
        [3, 3, 4],
    ]
    await house.send("supervisor", {"type": "EndTest"})
    assert (await house.get("supervisor", "/api/tables/1/equipment"))["tried"] == []


async def test_checks_are_shown_as_missing_failed_or_passed(house: HouseApp) -> None:
    await seat_players(house, betting=False, game_id="nz-tai-sai-2008/1")
    house.assign("supervisor")
    register = {"type": "RegisterPiece", "piece": "k-1", "kind": "terminal"}
    await house.send("supervisor", register)
    fail = {"type": "FailCheck", "check": "power", "piece": "k-1", "reason": "no power"}
    assert (await house.send("supervisor", fail)).status_code == 200

    shown = await house.get("supervisor", "/api/tables/1/equipment")
    status = {each["check"]: (each["status"], each["piece"]) for each in shown["checks"]}
    assert status == {
        "power": ("failed", "k-1"),
        "test-runs": ("missing", ""),
        "tumbler": ("passed", ""),
        "seal": ("passed", ""),
    }
    view = await house.get("supervisor", "/api/tables/1")
    assert view["checks_failed"] == {"power": "k-1"}
    refused = await house.send("supervisor", {"type": "Tumble", "times": 3})
    assert refused.json()["code"] == "table/check-failed"


async def test_destroying_dice_takes_two_people(house: HouseApp) -> None:
    await equip(house)
    await house.send("supervisor", {"type": "RemoveDice", "piece": "d-1"})
    house.assign("pit-manager")

    destroy = {"type": "DestroyDice", "piece": "d-1"}
    request = await house.request("supervisor", destroy)
    approved = await house.approve("pit-manager", request)

    assert approved.status_code == 200, approved.text
    shown = await house.get("supervisor", "/api/tables/1/equipment")
    assert shown["pieces"][0]["condition"] == "destroyed"


async def test_dice_monitor_reports_on_each_set_to_the_staff(house: HouseApp) -> None:
    await equip(house)
    await play_round(house)
    await play_round(house)
    exchange: list[dict[str, Any]] = [
        {"type": "RegisterPiece", "piece": "d-2", "kind": "dice", "serial": "S-2", "dice": DICE},
        {"type": "RemoveDice", "piece": "d-1"},
        {"type": "InstallDice", "piece": "d-2"},
    ]
    for command in exchange:
        assert (await house.send("supervisor", command)).status_code == 200
    await play_round(house)

    path = "/api/tables/1/dice-monitor"
    first, second = (await house.get("dealer", path))["sets"]

    assert (first["piece"], first["rounds"], first["installed"]) == ("d-1", 2, False)
    assert (second["piece"], second["serial"], second["rounds"]) == ("d-2", "S-2", 1)
    assert second["dice"] == DICE
    assert sum(first["counts"][0]["counts"]) == 6
    codes = [each["code"] for each in first["explanation"]]
    assert codes == ["watched", "no-level-reached", "continue"]
    assert [(each["alarm"], each["threshold"], each["round"]) for each in first["levels"]] == [
        ("warn", 20, 0),
        ("inspect", 100, 0),
        ("replace", 1000, 0),
    ]
    assert [point["round"] for point in first["points"]] == [0, 1, 2]
    assert "single-die" in first["not_shown"]
    assert (await house.client("player").get(path)).status_code == 403
    house.assign("auditor")
    assert (await house.client("auditor").get(path)).status_code == 200


async def test_dice_monitor_names_the_round_of_the_table_at_which_a_level_was_reached(
    house: HouseApp,
) -> None:
    await seat_players(house, betting=False)
    house.assign("dealer")
    house.assign("supervisor")
    await play_round(house)
    for command in (
        {"type": "RegisterPiece", "piece": "d-1", "kind": "dice", "dice": DICE},
        {"type": "InstallDice", "piece": "d-1"},
    ):
        assert (await house.send("supervisor", command)).status_code == 200
    for _ in range(12):
        await play_round(house)

    before, watched = (await house.get("supervisor", "/api/tables/1/dice-monitor"))["sets"]

    assert (before["piece"], before["rounds"]) == ("", 1)
    reached = [each for each in watched["levels"] if each["round"]]
    assert reached
    assert all(each["table_round"] == each["round"] + 1 for each in reached)
