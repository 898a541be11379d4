"""Rounds void after the call and locked tables, on the pages of those whom they concern."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.screens.browser import accessibility_violations
from tests.screens.house import GAMES, House, house_toml
from tests.screens.table_screens import TableScreens, press_next

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.screens.browser import NewUser

TABLES = {"sg": GAMES["sg-a"], "nz": GAMES["nz-1"], "triple": GAMES["triple"]}
ROLL = (6, 5, 4)


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with House(tmp_path_factory.mktemp("voids"), house_toml(TABLES)) as house:
        yield house


def open_screens(house: House, new_user: NewUser, table: str, dealer_lang: str) -> TableScreens:
    house.pass_checks(table)
    house.buy_in(table)
    return TableScreens(
        house,
        table,
        new_user(house, lang=dealer_lang).sign_in("dealer", f"/deal/{table}"),
        new_user(house).sign_in("supervisor", f"/deal/{table}"),
        new_user(house).sign_in("player", f"/table/{table}"),
    )


def play_until(screens: TableScreens, step: str) -> None:
    """Play a round with a bet on big that wins and one on small that loses, up to a step."""
    house, table = screens.house, screens.table
    player = house.account_id("player")
    house.deal(table, ROLL, until="close-betting")
    for box, amount in (("big", 10_000), ("small", 5_000)):
        house.send("player", table, "PlaceBet", player=player, box=box, amount=amount)
    house.deal(table, ROLL, until=step)


def void_round(house: House, table: str, irregularity: str, number: int) -> None:
    """Have the dealer report an irregularity and the supervisor approve it."""
    report = {"type": "Report", "irregularity": irregularity, "rounds": [number]}
    asked = house.client("dealer").post(
        f"/api/tables/{table}/requests", json={"command": report, "reason": "seen on the camera"}
    )
    path = f"/api/requests/{asked.json()['id']}/approve"
    assert house.client("supervisor").post(path, json={}).is_success


@pytest.mark.clause("sg-rws-tai-sai-v6 1.7", "sg-rws-tai-sai-v6 5.5")
def test_payment_waits_for_the_decision_on_a_report_that_voids_the_round(
    house: House, new_user: NewUser
) -> None:
    screens = open_screens(house, new_user, "sg", "en")
    play_until(screens, "pay-winners")
    expect(screens.dealer.get_by_role("button", name="Pay winners")).to_be_enabled()

    dialog = screens.open_report(screens.dealer, "dice-not-flat")
    expect(dialog).to_contain_text("A second person has to agree")
    dialog.get_by_test_id("confirm").press("Enter")
    expect(screens.dealer.get_by_test_id("held")).to_contain_text("void this round")
    expect(screens.dealer.get_by_test_id("next")).to_have_count(0)
    expect(screens.dealer.get_by_test_id("pay-area")).to_have_count(0)
    expect(screens.player.get_by_test_id("phase")).to_contain_text("Stopped")
    assert accessibility_violations(screens.dealer) == []
    screens.dealer.keyboard.press("n")
    screens.approve(screens.supervisor, "Die not flat: Round 1")

    notices = screens.dealer.get_by_test_id("notice")
    expect(notices.last).to_have_text(
        "↩ Void, money moved back: Round 1 · Seat 1 · player +50.00 Read X"
    )
    expect(screens.player.get_by_text("Round 1 is void. 100.00 went back")).to_be_visible()
    expect(screens.player.get_by_test_id("tumbler")).not_to_contain_text("4, 5, 6")
    assert screens.view()["seats"][house.account_id("player")]["stack"] == 100_000
    pit = new_user(house).sign_in("shift-manager", "/pit?view=report")
    voids = pit.get_by_test_id("voids").locator("tbody").locator("th, td")
    expect(voids).to_have_text(["dealer", "1", "0", "supervisor 1", "Die not flat 1"])
    assert accessibility_violations(pit) == []


@pytest.mark.clause("nz-tai-sai-2008 7.1", "nz-tai-sai-2008 7.4")
def test_tumbler_that_fails_between_spins_locks_the_table_and_voids_no_spin(
    house: House, new_user: NewUser
) -> None:
    screens = open_screens(house, new_user, "nz", "zh-Hant")
    play_until(screens, "")
    expect(screens.dealer.get_by_role("button", name="搖骰 N")).to_be_enabled()

    screens.dealer.locator("[data-irregularity=tumbler-fault]").click()
    dialog = screens.dealer.get_by_role("dialog")
    expect(dialog.get_by_test_id("consequence")).not_to_contain_text("No spin")
    dialog.get_by_test_id("confirm").press("Enter")
    expect(screens.dealer.get_by_test_id("locked")).to_contain_text("骰盅故障")
    expect(dialog).to_have_count(0)
    press_next(screens.dealer)
    refused = screens.dealer.get_by_role("alert").filter(has_text="7.1(b)")
    expect(refused).to_contain_text("骰盅故障")
    expect(refused).not_to_contain_text("spin", use_inner_text=True)
    assert screens.view()["locked"] == ["tumbler-fault"]
    assert screens.view()["last_settled"] == 1


@pytest.mark.clause("nz-tai-sai-2008 7.1")
def test_player_no_longer_sees_the_result_of_a_spin_that_was_undone(
    house: House, new_user: NewUser
) -> None:
    page = new_user(house).sign_in("player", "/table/nz")
    if house.get("/api/tables/nz")["locked"]:
        house.send("supervisor", "nz", "ReleaseTable", reason="repaired", remedy="rectified")
    screens = TableScreens(house, "nz", page, page, page)
    expect(page.get_by_test_id("phase")).to_be_visible()
    play_until(screens, "")
    expect(page.get_by_test_id("net")).to_be_visible()

    number = house.get("/api/tables/nz")["last_settled"]
    void_round(house, "nz", "too-few-tumbles", number)

    expect(page.get_by_text(f"Round {number} was undone")).to_be_visible()
    expect(page.get_by_test_id("net")).to_have_count(0)
    expect(page.get_by_test_id("tumbler")).not_to_contain_text("4, 5, 6")


@pytest.mark.clause("triple-dice 4", "triple-dice 5")
def test_throw_that_does_not_count_is_announced_to_dealer_and_player(
    house: House, new_user: NewUser
) -> None:
    dealer = new_user(house).sign_in("dealer", "/deal/triple")
    player = new_user(house, lang="zh-Hant").sign_in("player", "/table/triple")
    account = house.buy_in("triple")
    house.deal("triple", ROLL, until="close-betting")
    house.send("player", "triple", "PlaceBet", player=account, box="shooter", amount=1000)
    house.deal("triple", ROLL, until="throw")
    house.send("player", "triple", "Throw")
    house.deal("triple", ROLL, until="collect-losers")
    expect(dealer.get_by_role("button", name="Collect losers")).to_be_enabled()
    expect(player.get_by_test_id("phase")).to_contain_text("紅心")

    void_round(house, "triple", "dice-not-flat", 1)

    notice = dealer.get_by_test_id("notice")
    expect(notice).to_contain_text("Throw 1 does not count: Die not flat.")
    expect(notice).to_contain_text("Announce: “No Throw”")
    expect(player.get_by_test_id("notice")).to_contain_text("第 1 擲不算。重新擲骰")
    expect(player.get_by_test_id("notice")).to_contain_text("骰子不平")
    expect(player.get_by_test_id("phase")).not_to_contain_text("紅心")
