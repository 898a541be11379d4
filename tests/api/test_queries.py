"""Queries: the lobby, tables, results, statements, explanations, rulebooks and odds."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from tests.api.house_app import GAME, open_house_app, problem_code, seat_players
from tests.house.house_driver import DEALER, MANAGER, SUPERVISOR, People
from tests.log.inspection import tamper
from threedice import load
from threedice.api.routes.history import gaming_day_start
from threedice.log.stores.urls import open_store
from threedice.odds import odds_sheet
from threedice.table import commands

if TYPE_CHECKING:
    from pathlib import Path

    from tests.api.house_app import HouseApp

pytestmark = pytest.mark.anyio


async def test_lobby_lists_tables_with_phase_limits_and_last_results(
    house_in_play: HouseApp,
) -> None:
    (line,) = await house_in_play.get("administrator", "/api/tables")
    assert (line["table"], line["game"], line["phase"]) == ("1", GAME, "betting")
    assert (line["currency"], line["minimum"], line["maximum"]) == ("SGD", 5, 10_000_000)
    assert (line["round"], line["dealt_by_house"], line["last"]) == (1, False, [])
    await house_in_play.finish_round()
    (line,) = await house_in_play.get("player", "/api/tables")
    assert line["phase"] == "waiting"
    assert [each["dice"] for each in line["last"]] == [[1, 2, 3]]


async def test_tampered_table_is_listed_as_damaged(house_in_play: HouseApp) -> None:
    store: Any = house_in_play.store
    await house_in_play.bet("player")
    floor = house_in_play.handler
    floor.streams.restart(store)
    tamper(store, "UPDATE entries SET data = ? WHERE stream = 'table/1' AND version = 3", b"{}")
    (line,) = await house_in_play.get("player", "/api/tables")
    assert line["damaged"] is True
    response = await house_in_play.client("player").get("/api/tables/1")
    assert (response.status_code, problem_code(response)) == (503, "house/damaged")


async def test_table_view_depends_on_the_viewer(house_in_play: HouseApp) -> None:
    await house_in_play.bet("other player", 25)
    mine = await house_in_play.get("player", "/api/tables/1")
    assert list(mine["seats"]) == [house_in_play.id("player")]
    assert (mine["float_amount"], mine["drop"]) == (None, None)
    assert mine["round"]["totals"] == {"big": 25}
    staff = await house_in_play.get("dealer", "/api/tables/1")
    assert set(staff["seats"]) == {house_in_play.id("player"), house_in_play.id("other player")}
    house = house_in_play.context.house
    assert mine["version"] == house.command_handler.store.head("table/1").version


async def test_results_contain_no_amounts(house_in_play: HouseApp) -> None:
    await house_in_play.bet("player")
    await house_in_play.finish_round()
    (line,) = await house_in_play.get("player", "/api/tables/1/results")
    assert {"round", "what", "at", "dice", "note"} == line.keys()
    assert (line["round"], line["what"], line["dice"]) == (1, "result", [1, 2, 3])


async def test_last_results_are_found_behind_many_other_statement_lines(
    house_in_play: HouseApp,
) -> None:
    await house_in_play.finish_round()
    for _ in range(30):
        assert (
            await house_in_play.send("supervisor", {"type": "FillFloat", "amount": 5})
        ).is_success
    (line,) = await house_in_play.get("player", "/api/tables/1/results?most=1")
    assert line["dice"] == [1, 2, 3]


async def test_exposure_is_the_net_win_of_the_house_per_roll(house_in_play: HouseApp) -> None:
    await house_in_play.bet("player", 100, "big")
    exposure = await house_in_play.get("supervisor", "/api/tables/1/exposure")
    assert len(exposure["nets"]) == 216
    assert (exposure["worst"], exposure["best"]) == (-100, 100)
    assert exposure["nets"][0] == 100
    assert exposure["nets"][-2] == -100
    unassigned = house_in_play.add_account("elsewhere", "supervisor")
    assert unassigned
    response = await house_in_play.client("elsewhere").get("/api/tables/1/exposure")
    assert problem_code(response) == "door/role"


async def test_round_history_runs_from_start_to_payment(house_in_play: HouseApp) -> None:
    await house_in_play.bet("player")
    await house_in_play.finish_round()
    await People(house_in_play.handler).play("open betting")
    history = await house_in_play.get("auditor", "/api/tables/1/rounds/1")
    kinds = [each["event"]["type"] for each in history["events"]]
    assert (kinds[0], kinds[-1]) == ("RoundStarted", "WinnersPaid")
    assert "BetPlaced" in kinds
    assert any(" bets 0.05 on " in line for line in history["prose"])
    second = await house_in_play.get("auditor", "/api/tables/1/rounds/2")
    assert [each["event"]["type"] for each in second["events"]] == [
        "RoundStarted",
        "BettingOpened",
    ]
    missing = await house_in_play.client("auditor").get("/api/tables/1/rounds/3")
    assert (missing.status_code, problem_code(missing)) == (404, "unknown/name")


async def test_bet_explanation_is_shown_to_its_player_and_to_staff(house_in_play: HouseApp) -> None:
    await house_in_play.bet("player", 25, "small")
    await house_in_play.bet("other player", 5, "big")
    await house_in_play.finish_round()
    mine = await house_in_play.get("player", "/api/tables/1/rounds/1/explanation")
    assert [each["spot"] for each in mine] == ["small"]
    assert mine[0]["lines"][0] == "0.25 placed on small."
    path = f"/api/tables/1/rounds/1/explanation?player={house_in_play.id('player')}"
    assert await house_in_play.get("supervisor", path) == mine
    assert problem_code(await house_in_play.client("other player").get(path)) == "door/own"
    missing = await house_in_play.client("player").get("/api/tables/1/rounds/7/explanation")
    assert missing.status_code == 404


async def test_statement_lists_only_the_lines_of_its_player(house_in_play: HouseApp) -> None:
    await house_in_play.bet("player", 25, "big")
    await house_in_play.bet("other player", 5, "big")
    await house_in_play.finish_round()
    path = f"/api/accounts/{house_in_play.id('player')}/statement"
    lines = await house_in_play.get("player", path)
    assert [(each["what"], each["amount"]) for each in lines] == [
        ("bought in", 1000),
        ("lost", -25),
    ]
    assert await house_in_play.get("supervisor", path) == lines
    assert await house_in_play.get("player", f"{path}?most=1") == lines[-1:]
    assert await house_in_play.get("player", f"{path}?until={lines[-1]['at']}") == lines[:1]


async def test_shift_report_covers_the_requested_period(house_in_play: HouseApp) -> None:
    await house_in_play.bet("player", 25, "big")
    await house_in_play.finish_round()
    report = await house_in_play.get("supervisor", "/api/tables/1/shift?since=0")
    assert (report["rounds"], report["turnover"], report["win"]) == (1, 25, 25)
    assert report["drop"] == 2000
    assert report["theoretical_win"]
    empty = await house_in_play.get("supervisor", "/api/tables/1/shift?since=0&until=1")
    assert (empty["rounds"], empty["hold_percent"]) == (0, None)
    wrong = await house_in_play.client("supervisor").get("/api/tables/1/shift?since=5&until=4")
    assert (wrong.status_code, problem_code(wrong)) == (422, "input/wrong")


async def test_the_reported_win_of_a_shift_excludes_a_corrected_and_reversed_round(
    house_in_play: HouseApp,
) -> None:
    await house_in_play.bet("player", 25, "big")
    await house_in_play.finish_round()
    floor = house_in_play.handler
    correction = commands.CorrectBet(
        by=DEALER,
        round=1,
        player=house_in_play.id("player"),
        amount=5000,
        reason="misread",
        approved_by=SUPERVISOR,
    )
    reversal = commands.Report(
        by=SUPERVISOR, irregularity="dice-damaged", rounds=[1], approved_by=MANAGER
    )
    for command, win in ((correction, 25 - 5000), (reversal, 0)):
        await People(floor).send(command)
        report = await house_in_play.get("supervisor", "/api/tables/1/shift?since=0")
        assert report["win"] == win
    assert (report["rounds"], report["turnover"], report["hold_percent"]) == (0, 0, 0)


async def test_gaming_day_starts_in_the_time_zone_of_the_house(house: HouseApp) -> None:
    """06:00 in Singapore is 22:00 UTC."""
    for hour, day in ((23, 5), (21, 4)):
        now = int(datetime(2026, 3, 5, hour, tzinfo=UTC).timestamp()) * 1_000_000
        start = datetime.fromtimestamp(gaming_day_start(house.context, now) / 1_000_000, UTC)
        assert (start.day, start.hour) == (day, 22)


async def test_rulebooks_are_listed_and_a_game_is_shown_with_its_felt(house: HouseApp) -> None:
    books = await house.get("player", "/api/rulebooks")
    assert GAME in [game for book in books for game in book["games"]]
    game = await house.get("player", f"/api/rulebooks/{GAME}")
    loaded = load(GAME)
    assert [box["id"] for box in game["boxes"]] == list(loaded.boxes)
    assert game["felt"]["areas"]
    assert game["hash"] == loaded.hash
    assert all(set(box["rule"]) <= game["clauses"].keys() for box in game["boxes"])


async def test_table_shows_the_game_it_plays(house_in_play: HouseApp) -> None:
    game = await house_in_play.get("player", "/api/tables/1/game")
    assert (game["id"], game["hash"]) == (GAME, load(GAME).hash)
    assert game["felt"]
    missing = await house_in_play.client("player").get("/api/tables/2/game")
    assert missing.status_code == 404


async def test_odds_are_exact_fractions(house: HouseApp) -> None:
    sheet = await house.get("player", f"/api/rulebooks/{GAME}/odds")
    expected = odds_sheet(load(GAME))
    assert sheet["layout_edge"] == str(expected.layout_edge)
    edges = {each["box"]: each["figures"]["edge"] for each in sheet["boxes"]}
    assert edges == {each.box.id: str(each.figures.edge) for each in expected.boxes}


async def test_readings_list_alternatives_with_their_change_of_edge(house: HouseApp) -> None:
    readings = await house.get("player", "/api/rulebooks/triple-dice/mat/readings")
    by_name = {each["name"]: each for each in readings}
    assert {name: each["choice"] for name, each in by_name.items()} == load(
        "triple-dice/mat"
    ).readings
    outside = by_name["outside"]
    assert (outside["choice"], outside["clause"]) == ("flat", ["odds:outside"])
    (per_die,) = outside["alternatives"]
    assert per_die["name"] == "per-die"
    assert per_die["edges"]["single:crown"] == ["17/108", "17/216"]


async def test_mix_of_bets_is_evaluated(house: HouseApp) -> None:
    client, path = house.client("player"), f"/api/rulebooks/{GAME}/mix"
    mix = (await client.post(path, json={"stakes": {"big": 50, "total:10": 20}})).json()
    assert (mix["total"], mix["figures"]["edge"]) == (70, "1/18")
    assert len(mix["nets"]) == 216
    for stakes, status in (
        ({}, 422),
        ({"big": 0}, 422),
        ({"nothing": 5}, 404),
        ({"big": 10**13}, 422),
        ({f"b{i}": 5 for i in range(501)}, 422),
    ):
        assert (await client.post(path, json={"stakes": stakes})).status_code == status


async def test_house_details_are_public(house: HouseApp) -> None:
    details = (await house.client().get("/api/house")).json()
    assert (details["name"], details["currency"]) == ("Test house", "SGD")
    assert details["gaming_day_starts"] == "06:00"
    assert (details["demo"], details["suspended"]) == ([], False)


async def test_auditor_verifies_the_log(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path / 'house.sqlite'}", serving=True)
    try:
        async with open_house_app(store=store) as house:
            await seat_players(house)
            proved = (await house.client("auditor").post("/api/log/verification")).json()
            assert (proved["sound"], proved["findings"]) == (True, [])
            assert proved["entries"] == store.head("table/1").version
            await house.context.verification_limiter.acquire()
            busy = await house.client("auditor").post("/api/log/verification")
            assert (busy.status_code, problem_code(busy)) == (503, "house/busy")
            house.context.verification_limiter.release()
    finally:
        store.close()


async def test_shift_manager_releases_a_suspended_house(house_in_play: HouseApp) -> None:
    client, body = house_in_play.client("shift-manager"), {"reason": "the disk was full"}
    idle = await client.post("/api/house/release", json=body)
    assert (idle.status_code, problem_code(idle)) == (409, "house/not-suspended")
    house_in_play.handler.streams.writer.suspend("the disk is full")
    stopped = await house_in_play.bet("player")
    assert (stopped.status_code, problem_code(stopped)) == (503, "house/suspended")
    assert (await client.post("/api/house/release", json=body)).status_code == 204
    assert (await house_in_play.bet("player")).status_code == 200
