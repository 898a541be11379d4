"""A player bets in the browser: chips, undo, whole sets, refusals, and numbers that are true."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.screens.house import House, house_toml
from tests.screens.player_page import PlayerPage, chips_of, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Route

    from tests.screens.browser import Person

    Put = Callable[..., Person]

TABLES = {f"p{i}": "sg-rws-tai-sai-v6/a" for i in range(1, 14)} | {
    "ends": "sg-rws-tai-sai-v6/e",
    "own": "nz-tai-sai-2008/1",
}


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A house of electronic tables, one for each test."""
    served = House(tmp_path_factory.mktemp("players"), house_toml(TABLES, "refuse"))
    yield served
    served.stop()


def test_chips_are_placed_taken_back_undone_and_redone(house: House, person: Put) -> None:
    at = PlayerPage(house, "p1", person)
    at.open()
    at.put("big", "big", "total:9")
    at.lies(**{"big": 200, "total:9": 100})
    at.chip(25).click()
    at.put("single:5")
    at.lies(**{"big": 200, "total:9": 100, "single:5": 2500})
    at.box("single:5").click(button="right")
    at.lies(**{"single:5": 0, "big": 200, "total:9": 100})
    at.act("Undo").click()
    at.lies(**{"single:5": 2500, "big": 200, "total:9": 100})
    at.act("Undo").click()
    at.act("Undo").click()
    at.lies(**{"single:5": 0, "total:9": 0, "big": 200})
    at.page.keyboard.press("Control+y")
    at.lies(**{"total:9": 100, "big": 200})
    at.act("Redo").click()
    at.lies(**{"single:5": 2500, "total:9": 100, "big": 200})


def test_all_bets_are_doubled_halved_and_cleared(house: House, person: Put) -> None:
    at = PlayerPage(house, "p2", person)
    at.open()
    at.put("big", "domino:1-4", "domino:1-4")
    at.act("Double").click()
    at.lies(**{"big": 200, "domino:1-4": 400})
    at.act("Half").click()
    at.lies(**{"big": 100, "domino:1-4": 200})
    at.act("Half").click()
    expect(at.refusal).to_contain_text("cannot be halved in whole chips")
    at.lies(**{"big": 100, "domino:1-4": 200})
    at.act("Clear").click()
    at.lies(**{"big": 0, "domino:1-4": 0})
    at.act("Undo").click()
    at.lies(**{"big": 100, "domino:1-4": 200})


def test_rebet_places_the_last_bets_after_a_reload(house: House, person: Put) -> None:
    at = PlayerPage(house, "p3", person)
    at.open()
    at.put("small", "total:10", "total:10")
    at.finish()
    at.is_true()
    at.page.reload()
    at.open()
    at.act("Rebet").click()
    at.lies(**{"small": 100, "total:10": 200})


def test_favourites_are_saved_renamed_placed_and_deleted(house: House, person: Put) -> None:
    at = PlayerPage(house, "p4", person)
    at.open()
    at.put("big", "triple:6")
    at.act("Favourites").click()
    for i in range(1, 16):
        at.page.get_by_label("Name", exact=True).fill(f"Set {i}")
        at.button("Keep").click()
    expect(at.page.get_by_role("listitem").filter(has_text="Set ")).to_have_count(15)
    at.page.get_by_label("Name", exact=True).fill("Set 7")
    at.button("Keep").click()
    expect(at.page.get_by_role("alert").filter(has_text="of this name already")).to_be_visible()
    at.button("Rename Set 7").click()
    at.page.get_by_label("New name").fill("Lucky")
    at.button("Save").click()
    at.button("Delete Set 8").click()
    at.page.reload()
    at.act("Clear").click()
    at.lies(**{"big": 0, "triple:6": 0})
    at.act("Favourites").click()
    expect(at.button("Place Set 8")).to_have_count(0)
    at.button("Place Lucky").click()
    at.lies(**{"big": 100, "triple:6": 100})


def test_set_of_bets_over_stack_or_limit_is_not_placed(house: House, person: Put) -> None:
    at = PlayerPage(house, "p5", person, amount=70_000)
    at.open()
    at.put("total:9")
    at.chip(100).click()
    at.put("big", "big", "big", "big")
    at.act("Double").click()
    expect(at.refusal).to_contain_text("It takes 401; your stack is 299")
    expect(at.refusal).to_contain_text("None of it was placed or taken")
    at.lies(**{"big": 40_000, "total:9": 100})
    house.seat("p5", amount=1_000_000)
    at.act("Double").click()
    at.lies(**{"big": 80_000, "total:9": 200})
    at.act("Double").click()
    expect(at.refusal).to_contain_text("Big: 800 is more than fits; there is room for 200")
    expect(at.refusal).to_contain_text("3.5")
    at.lies(**{"big": 80_000, "total:9": 200})


def test_partly_refused_set_of_bets_is_rolled_back(house: House, person: Put) -> None:
    """Somebody else fills a box after the room was asked for and before the bet arrives."""
    at = PlayerPage(house, "p6", person)
    other = house.seat("p6", "player2")
    at.open()
    at.put("big", "small")
    at.chip(100).click()
    at.put("total:9")
    sent: list[str] = []

    def fill_small(route: Route) -> None:
        body = route.request.post_data or ""
        if '"PlaceBet"' in body and '"small"' in body and not sent:
            sent.append(body)
            fields = {"player": other, "box": "small", "amount": 99_900}
            house.send("player2", "p6", "PlaceBet", **fields)
        route.continue_()

    at.page.route("**/commands", fill_small)
    at.act("Double").click()
    expect(at.refusal).to_contain_text("Small")
    expect(at.refusal).to_contain_text("more than fits: 0 of 1,000")
    expect(at.refusal).to_contain_text("taken back again; everything lies as before")
    at.lies(**{"big": 100, "small": 100, "total:9": 10_000})


def test_refusal_names_the_clause_and_the_largest_possible_bet(house: House, person: Put) -> None:
    at = PlayerPage(house, "p7", person)
    other = house.seat("p7", "player2")
    at.open()
    house.send("player2", "p7", "PlaceBet", player=other, box="big", amount=95_000)
    expect(at.page.get_by_test_id("room-big")).to_have_text("50")
    at.chip(100).click()
    at.box("big").click()
    expect(at.refusal).to_contain_text("100 is more than fits: 50 of 1,000")
    expect(at.refusal).to_contain_text("You can place up to 50.00 more here.")
    expect(at.refusal).to_contain_text("Clause 3.5")
    at.lies(big=0)
    at.page.get_by_label("Language").select_option("zh-Hant")
    at.box("big").click()
    expect(at.refusal).to_contain_text("此處最多還可下注 50.00")


def test_chip_is_pending_until_the_server_accepts_the_bet(house: House, person: Put) -> None:
    at = PlayerPage(house, "p8", person)
    at.open()
    held = at.hold()
    at.box("big").click()
    expect(at.box("big")).to_have_attribute("aria-label", _says("on their way, not accepted yet"))
    expect(at.page.get_by_test_id("going")).to_have_text(shown(100))
    expect(at.page.get_by_test_id("stack")).to_have_text(shown(1_000_000))
    expect(at.page.get_by_test_id("staked")).to_have_text(shown(0))
    held.let_go()
    expect(at.box("big")).not_to_have_attribute("aria-label", _says("on their way"))
    at.lies(big=100)


def test_bet_that_arrives_after_close_is_shown_as_refused(house: House, person: Put) -> None:
    at = PlayerPage(house, "p9", person)
    at.open()
    held = at.hold()
    at.box("big").click()
    expect(at.page.get_by_test_id("going")).to_be_visible()
    held.wait()
    at.deal("close-betting")
    held.let_go()
    expect(at.refusal).to_contain_text("Betting is closed")
    at.lies(big=0)


def test_buy_in_and_cash_out_change_the_account_balance(house: House, person: Put) -> None:
    at = PlayerPage(house, "p10", person, amount=0)
    account = f"/api/accounts/{at.player}"
    before = house.get(account, "player")["balance"]
    expect(at.page.get_by_text("Buy in from your account to play")).to_be_visible()
    at.button("Buy in").click()
    expect(at.page.get_by_test_id("balance")).to_have_text(shown(before))
    at.page.get_by_label("Amount in SGD").fill("250.50")
    at.button("Buy chips").click()
    expect(at.refusal.last).to_contain_text("cannot be made in chips of 1")
    at.page.get_by_label("Amount in SGD").fill("250")
    at.button("Buy chips").click()
    at.is_true()
    assert at.seat()["stack"] == 25_000
    at.button("Cash out").click()
    at.page.get_by_label("Amount in SGD").fill("100")
    at.page.get_by_role("dialog").get_by_role("button", name="Cash out").click()
    expect(at.page.get_by_test_id("stack")).to_have_text(shown(15_000))
    assert house.get(account, "player")["balance"] == before - 15_000


def test_player_bets_by_keyboard_alone(house: House, person: Put) -> None:
    at = PlayerPage(house, "p11", person)
    at.open()
    keys = at.page.keyboard
    at.chip(1).focus()
    keys.press("ArrowRight")
    expect(at.chip(5)).to_be_focused()
    at.box("big").focus()
    keys.press("Enter")
    keys.press("ArrowRight")
    keys.press("Space")
    expect(at.page.get_by_test_id("box-panel")).to_contain_text("Double 6")
    at.lies(**{"big": 500, "double:6": 500})
    keys.press("Delete")
    at.lies(**{"big": 500, "double:6": 0})
    keys.press("Control+z")
    at.lies(**{"big": 500, "double:6": 500})
    at.act("Clear").focus()
    keys.press("Enter")
    at.lies(**{"big": 0, "double:6": 0})


def test_player_bets_and_takes_back_by_touch_on_a_phone(house: House, person: Put) -> None:
    at = PlayerPage(house, "p12", person, size="phone")
    at.open()
    at.chip(5).tap()
    at.box("big").tap()
    at.lies(big=500)
    at.page.get_by_role("region", name="Stack, chip and time").get_by_role(
        "button", name="Undo"
    ).tap()
    at.lies(big=0)
    at.box("big").tap()
    at.lies(big=500)
    at.box("big").dispatch_event("pointerdown", {"pointerType": "touch", "bubbles": True})
    at.lies(big=0)


def test_chips_stay_on_the_area_where_they_were_placed(house: House, person: Put) -> None:
    at = PlayerPage(house, "ends", person)
    at.open()
    at.put("big@left", "big@right", "big@right")
    at.lies(**{"big@left": 100, "big@right": 200})
    at.act("Double").click()
    at.lies(**{"big@left": 200, "big@right": 400})
    at.box("big@right").click(button="right")
    at.lies(**{"big@left": 200, "big@right": 300})
    at.finish()
    expect(at.box("big@left")).to_have_attribute("aria-label", _says("lost 2.00"))
    at.is_true()


def test_player_with_a_colour_bets_chips_of_its_value(house: House, person: Put) -> None:
    at = PlayerPage(house, "own", person)
    house.send("dealer", "own", "TakeColour", player=at.player, colour="blue", value=500)
    expect(at.page.get_by_text("You play blue chips, worth 5 each.")).to_be_visible()
    at.deal("tumble")
    at.open()
    at.put("big")
    at.lies(big=500)


def _says(words: str) -> re.Pattern[str]:
    return re.compile(re.escape(words))


def test_long_press_describes_the_box_and_takes_chips_back(house: House, person: Put) -> None:
    at = PlayerPage(house, "p13", person, size="phone")
    at.open()
    place = at.box("big").bounding_box()
    assert place
    finger = [{"x": place["x"] + place["width"] / 2, "y": place["y"] + place["height"] / 2}]
    screen = at.someone.context.new_cdp_session(at.page)

    def press() -> None:
        screen.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": finger})

    def let_go() -> None:
        screen.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})

    press()
    expect(at.page.get_by_test_id("box-panel")).to_contain_text("Big")
    let_go()
    at.lies(big=0)
    at.box("big").tap()
    at.lies(big=100)
    press()
    expect(at.box("big")).to_have_attribute("aria-label", chips_of(0))
    let_go()
    at.lies(big=0)
