"""Triple Dice dealt from the dealer's terminal alone, by keyboard: no player has a device."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.screens.browser import accessibility_violations, is_wider_than_screen
from tests.screens.house import GAMES, House, house_toml
from tests.screens.table_screens import TableScreens, press_next, wait_for_step

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Locator, Page

    from tests.screens.browser import NewUser

TABLES = ("series", "left", "phone")
CROWN_HEART_CLUB = "146"


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    games = dict.fromkeys(TABLES, GAMES["triple"])
    with House(tmp_path_factory.mktemp("one-terminal"), house_toml(games)) as house:
        yield house


def open_desk(house: House, new_user: NewUser, table: str) -> TableScreens:
    dealer = new_user(house).sign_in("dealer", f"/deal/{table}")
    expect(dealer.get_by_test_id("round")).to_be_visible()
    return TableScreens(house, table, dealer, dealer, dealer)


def tab_to(page: Page, target: Locator) -> None:
    """Press Tab until a control has the keyboard focus."""
    expect(target).to_be_enabled()
    for _ in range(120):
        if target.evaluate("(it) => it === document.activeElement"):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab does not reach {target}")


def sell_chips(page: Page, number: int) -> str:
    """Sell chips for cash to a new guest, and return their id."""
    tab_to(page, page.get_by_role("button", name="New player"))
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    tab_to(page, dialog.get_by_role("button", name=f"Guest {number}"))
    page.keyboard.press("Enter")
    for field, text in (("Amount", "500"), ("Age", "30")):
        tab_to(page, dialog.get_by_label(field))
        page.keyboard.type(text)
    tab_to(page, dialog.get_by_role("button", name="Buy in for cash"))
    page.keyboard.press("Enter")
    seat = page.locator(f"[data-player^=guest-{number}-]")
    expect(seat).to_be_visible()
    expect(dialog).to_have_count(0)
    return seat.get_attribute("data-player") or ""


def choose_dice(page: Page, dice: str) -> None:
    """Record the shooter's choice by the number keys and Enter."""
    choice = page.get_by_role("group", name="Dice that the shooter chose")
    expect(choice).to_be_visible()
    for die in dice:
        page.keyboard.press(die)
        expect(choice.get_by_role("button", name=f"Die {die}")).to_have_attribute(
            "aria-pressed", "true"
        )
    expect(page.get_by_test_id("record")).to_be_enabled()
    page.keyboard.press("Enter")
    wait_for_step(page, "choose-dice")


def place_shooter_bet(page: Page, units: str) -> None:
    expect(page.get_by_test_id("shooter-bet")).to_be_visible()
    page.keyboard.press("s")
    page.keyboard.type(units)
    expect(page.get_by_test_id("shooter-bet").get_by_role("button")).to_be_enabled()
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("shooter-bet")).to_have_count(0)


def record_throw(page: Page) -> None:
    expect(page.get_by_test_id("record")).to_be_enabled()
    page.keyboard.press("n")
    wait_for_step(page, "throw")


def call_and_settle(screens: TableScreens, faces: str) -> None:
    screens.press_keys(faces)
    screens.dealer.keyboard.press("Enter")
    wait_for_step(screens.dealer, "call-result")
    screens.take_step("collect-losers")
    press_next(screens.dealer)
    expect(screens.dealer.get_by_test_id("round")).to_contain_text("between", ignore_case=True)


@pytest.mark.clause("triple-dice 3", "triple-dice 7", "triple-dice 7.1", "triple-dice 7.8")
def test_dealer_alone_deals_a_series_of_four_throws_by_keyboard(
    house: House, new_user: NewUser
) -> None:
    screens = open_desk(house, new_user, "series")
    page = screens.dealer
    player = sell_chips(page, 1)
    page.keyboard.press("1")
    choose_dice(page, "125")
    assert screens.view()["shooter"]["dice"] == [1, 2, 5]

    for throws in range(1, 5):
        screens.take_step("open-betting")
        if throws == 1:
            place_shooter_bet(page, "100")
            page.keyboard.press("p")
            tab_to(page, page.locator("[data-area='single:crown']"))
            page.keyboard.press("Enter")
            expect(page.locator("[data-player] [data-spot='single:crown']")).to_be_visible()
            assert accessibility_violations(page) == []
        screens.take_step("close-betting")
        record_throw(page)
        call_and_settle(screens, CROWN_HEART_CLUB)

    view = screens.view()
    assert view["shooter"] is None
    assert view["seats"][player]["stack"] == 50_000 + 9 * 10_000 + 100


@pytest.mark.clause("triple-dice 7", "triple-dice 7.2")
def test_absent_shooter_does_not_block_the_table(house: House, new_user: NewUser) -> None:
    screens = open_desk(house, new_user, "left")
    page = screens.dealer
    _, second = (sell_chips(page, number) for number in (1, 2))
    page.keyboard.press("1")
    expect(page.get_by_test_id("wait")).to_contain_text("3 of 5 dice")
    page.keyboard.press("o")
    expect(page.get_by_role("group", name="To whom the dice are offered")).to_be_visible()
    page.keyboard.press("2")
    expect(page.locator(f"[data-player={second}]")).to_contain_text("Shooter")
    choose_dice(page, "234")
    screens.take_step("open-betting")
    place_shooter_bet(page, "100")

    house.send("dealer", "left", "Report", irregularity="walked-away", player=second)
    screens.take_step("close-betting")
    screens.take_step("throw")
    call_and_settle(screens, "666")

    assert screens.view()["seats"][second]["stack"] == 40_000
    assert screens.next_step() == "offer-dice"


def test_area_without_a_lamp_cannot_be_pressed_in_test_mode(
    house: House, new_user: NewUser
) -> None:
    page = open_desk(house, new_user, "phone").dealer
    house.send("dealer", "phone", "StartTest")
    expect(page.get_by_test_id("test-mode")).to_be_visible()
    page.keyboard.type("125")
    expect(page.get_by_test_id("send-trial")).to_be_enabled()

    expect(page.locator("[data-drawn=shooter]")).to_be_visible()
    expect(page.locator("[data-area=shooter]")).to_have_count(0)
    expect(page.locator("[data-area='single:crown']")).not_to_have_attribute(
        "aria-disabled", "true"
    )
    house.send("dealer", "phone", "EndTest")


@pytest.mark.long
def test_dealer_records_a_choice_and_a_throw_on_a_phone(house: House, new_user: NewUser) -> None:
    dealer = new_user(house, "phone", "zh-Hant").sign_in("dealer", "/deal/phone")
    house.send("dealer", "phone", "BuyIn", player="ann", amount=50_000, age_years=30)
    house.send("dealer", "phone", "OfferDice", player="ann")

    for die in (1, 3, 4):
        dealer.get_by_role("button", name=f"第 {die} 顆骰子").tap()
    expect(dealer.get_by_role("button", name="皇冠").locator("circle")).to_have_count(0)  # no pips
    assert accessibility_violations(dealer) == []
    assert not is_wider_than_screen(dealer)
    dealer.get_by_test_id("record").tap()
    wait_for_step(dealer, "choose-dice")

    house.send("dealer", "phone", "OpenBetting")
    house.send(
        "dealer", "phone", "PlaceBet", player="ann", box="shooter", amount=500, manner="behalf"
    )
    house.send("dealer", "phone", "CloseBetting")
    dealer.get_by_test_id("record").tap()
    wait_for_step(dealer, "throw")
