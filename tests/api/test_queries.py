"""Queries: the lobby, tables, results, statements, explanations, rulebooks and odds."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from tests.api.house_app import GAME, open_house_app, problem_code, seat_players
from tests.house.house_driver import DEALER, MANAGER, SUPERVISOR, People
from tests.house.intruder import Intruder
from tests.log.inspection import tamper
from threedice import load
from threedice.api.routes.history import gaming_day_start
from threedice.house.commands import EstablishTable
from threedice.log.stores.urls import open_store
from threedice.odds import odds_sheet
from threedice.table import commands
from threedice.table.events import DiceTumbled

if TYPE_CHECKING:
    from pathlib import Path

    import httpx

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


async def test_lobby_says_whether_each_rulebook_is_in_force(
    house: HouseApp, tmp_path: Path
) -> None:
    later = tmp_path / "later.toml"
    later.write_text(
        'extends = "triple-dice"\nid = "later"\ntitle = "Later"\neffective = "2999-01-01"\n',
        encoding="utf-8",
    )
    games = {"1": GAME, "2": "nz-tai-sai-2008/1", "3": "triple-dice/mat", "4": f"{later}/mat"}
    for table, game in games.items():
        command = EstablishTable(by=SUPERVISOR, game=game)
        await house.handler.handle(command, table=table, account="console", key=f"set-up-{table}")
    lines = await house.get("player", "/api/tables")

    assert [(each["in_force"], each["effective"], each["consolidated"]) for each in lines] == [
        (True, "2023-10-06T08:00:00+08:00", ""),
        (True, "", "2008-04-25"),
        (True, "", ""),
        (False, "2999-01-01", ""),
    ]


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


async def test_ledgers_have_the_balance_after_each_line_and_of_the_period(
    house_in_play: HouseApp,
) -> None:
    await house_in_play.bet("player", 25, "big")
    await house_in_play.finish_round()
    path = f"/api/accounts/{house_in_play.id('player')}/ledgers"
    found = await house_in_play.get("player", path)
    house, table = found["ledgers"]
    assert (house["table"], house["lines"], house["balance"]) == ("", [], 0)
    assert table["table"] == "1"
    assert [(each["what"], each["amount"], each["balance"]) for each in table["lines"]] == [
        ("bought in", 1000, 1000),
        ("lost", -25, 975),
    ]
    totals = {"opening": 0, "money_in": 1000, "money_out": 25, "closing": 975, "balance": 975}
    assert {name: table[name] for name in totals} == totals
    assert await house_in_play.get("supervisor", path) == found

    lost_at = table["lines"][-1]["at"]
    (_, before) = (await house_in_play.get("player", f"{path}?until={lost_at}"))["ledgers"]
    assert (before["closing"], before["balance"], len(before["lines"])) == (1000, 975, 1)
    (_, after) = (await house_in_play.get("player", f"{path}?since={lost_at}"))["ledgers"]
    assert (after["opening"], after["closing"]) == (1000, 975)
    assert after["lines"] == table["lines"][1:]
    (_, short) = (await house_in_play.get("player", f"{path}?most=1"))["ledgers"]
    assert (short["left_out"], short["lines"]) == (1, table["lines"][1:])
    assert {name: short[name] for name in totals} == totals


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


async def test_shift_report_counts_void_rounds_by_the_people_who_voided_them(
    house_in_play: HouseApp,
) -> None:
    people = People(house_in_play.handler)
    await people.play("close betting", "tumbles 3 times", "uncover the dice")
    report = {"type": "Report", "irregularity": "dice-not-flat"}
    (stopped,) = (await house_in_play.send("dealer", report)).json()["events"]
    assert stopped["type"] == "RoundStopped"
    await house_in_play.approve("supervisor", await house_in_play.request("dealer", report))

    shift = await house_in_play.get("supervisor", "/api/tables/1/shift?since=0")

    assert shift["void"] == 1
    assert shift["voided"] == [
        {
            "by": house_in_play.id("dealer"),
            "name": "dealer-name",
            "approved_by": house_in_play.id("supervisor"),
            "approver": "supervisor-name",
            "cause": "dice-not-flat",
            "count": 1,
        }
    ]


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
            assert proved["entries"] == sum(head.version for head in store.heads().values())
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


async def test_shift_manager_releases_a_table_with_foreign_entries(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'house.sqlite'}"
    store = open_store(url, serving=True)
    try:
        async with open_house_app(store=store) as house:
            await seat_players(house)
            client = house.client("shift-manager")
            body = {"reason": "a technician tried something", "stream": "table/1"}
            idle = await client.post("/api/house/release", json=body)
            assert (idle.status_code, problem_code(idle)) == (409, "house/not-foreign")
            Intruder(url).append("table/1", DiceTumbled(times=1, by=DEALER))
            damaged = await house.bet("player")
            assert (damaged.status_code, problem_code(damaged)) == (503, "house/damaged")
            health = (await house.client().get("/health")).json()
            assert (health["status"], health["damaged"]) == ("trouble", 1)
            assert [each["code"] for each in health["reasons"]] == ["foreign-entries"]

            assert (await client.post("/api/house/release", json=body)).status_code == 204

            assert (await house.client().get("/health")).json()["status"] == "well"
            assert (await house.client("player").get("/api/tables/1")).status_code == 200
    finally:
        store.close()


async def test_table_whose_entries_were_removed_cannot_be_released(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'house.sqlite'}"
    store = open_store(url, serving=True)
    try:
        async with open_house_app(store=store) as house:
            await seat_players(house)
            select = "SELECT version, hash, mac FROM streams WHERE stream = 'table/1'"
            (row,) = Intruder(url).execute((select, ()))
            assert (await house.bet("player")).status_code == 200
            Intruder(url).execute(
                ("DELETE FROM entries WHERE stream = 'table/1' AND version > ?", row[:1]),
                ("UPDATE streams SET version=?, hash=?, mac=? WHERE stream='table/1'", row),
            )
            damaged = await house.bet("player")
            assert (damaged.status_code, problem_code(damaged)) == (503, "house/damaged")
            health = (await house.client().get("/health")).json()
            assert (health["status"], health["damaged"]) == ("trouble", 1)
            assert [each["code"] for each in health["reasons"]] == ["foreign-entries"]

            body = {"reason": "a technician tried something", "stream": "table/1"}
            refused = await house.client("shift-manager").post("/api/house/release", json=body)
            assert (refused.status_code, problem_code(refused)) == (409, "house/entries-missing")
    finally:
        store.close()


async def test_account_whose_entries_were_all_removed_is_damaged_and_not_unknown(
    tmp_path: Path,
) -> None:
    url = f"sqlite:///{tmp_path / 'house.sqlite'}"
    store = open_store(url, serving=True)
    try:
        async with open_house_app(store=store) as house:
            player, client = house.id("player"), house.client("shift-manager")

            async def send(key: str, **command: object) -> httpx.Response:
                return await client.post(
                    f"/api/accounts/{player}/commands",
                    json=command,
                    headers={"Idempotency-Key": key},
                )

            assert (await send("a", type="OpenAccount", currency="SGD")).status_code == 200
            Intruder(url).execute(
                ("DELETE FROM entries WHERE stream = ?", (f"cage/{player}",)),
                ("DELETE FROM streams WHERE stream = ?", (f"cage/{player}",)),
            )
            refused = await send("b", type="Deposit", amount=5)
            assert problem_code(refused) == "house/damaged"

            shown = await client.get(f"/api/accounts/{player}")
            assert (shown.status_code, problem_code(shown)) == (503, "house/damaged")
    finally:
        store.close()
