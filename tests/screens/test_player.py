"""Betting on the player's page: chips, undo, sets of bets, refusals, keyboard and touch."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.screens.browser import box_of, format_amount
from tests.screens.house import House, house_toml
from tests.screens.player_page import PlayerPage, chips_label

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Route

    from tests.screens.browser import NewUser

TABLES = {f"p{i}": "sg-rws-tai-sai-v6/a" for i in range(1, 14)} | {
    "ends": "sg-rws-tai-sai-v6/e",
    "own": "nz-tai-sai-2008/1",
}


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """Run a house of electronic tables, one for each test."""
    with House(tmp_path_factory.mktemp("players"), house_toml(TABLES, "refuse")) as house:
        yield house


def test_chips_are_placed_taken_back_undone_and_redone(house: House, new_user: NewUser) -> None:
    player = PlayerPage(house, "p1", new_user)
    player.open_betting()
    player.place("big", "big", "total:9")
    player.assert_chips(**{"big": 200, "total:9": 100})
    player.chip(25).click()
    player.place("single:5")
    player.assert_chips(**{"big": 200, "total:9": 100, "single:5": 2500})
    player.box("single:5").click(button="right")
    player.assert_chips(**{"single:5": 0, "big": 200, "total:9": 100})
    player.toolbar_button("Undo").click()
    player.assert_chips(**{"single:5": 2500, "big": 200, "total:9": 100})
    player.toolbar_button("Undo").click()
    player.toolbar_button("Undo").click()
    player.assert_chips(**{"single:5": 0, "total:9": 0, "big": 200})
    player.page.keyboard.press("Control+y")
    player.assert_chips(**{"total:9": 100, "big": 200})
    player.toolbar_button("Redo").click()
    player.assert_chips(**{"single:5": 2500, "total:9": 100, "big": 200})


def test_all_bets_are_doubled_halved_and_cleared(house: House, new_user: NewUser) -> None:
    player = PlayerPage(house, "p2", new_user)
    player.open_betting()
    player.place("big", "domino:1-4", "domino:1-4")
    player.toolbar_button("Double").click()
    player.assert_chips(**{"big": 200, "domino:1-4": 400})
    player.toolbar_button("Half").click()
    player.assert_chips(**{"big": 100, "domino:1-4": 200})
    player.toolbar_button("Half").click()
    expect(player.refusal).to_contain_text("cannot be halved in whole chips")
    player.assert_chips(**{"big": 100, "domino:1-4": 200})
    player.toolbar_button("Clear").click()
    player.assert_chips(**{"big": 0, "domino:1-4": 0})
    player.toolbar_button("Undo").click()
    player.assert_chips(**{"big": 100, "domino:1-4": 200})


def test_rebet_places_the_last_bets_after_a_reload(house: House, new_user: NewUser) -> None:
    player = PlayerPage(house, "p3", new_user)
    player.open_betting()
    player.place("small", "total:10", "total:10")
    player.finish_round()
    player.assert_in_sync()
    player.page.reload()
    player.open_betting()
    player.toolbar_button("Rebet").click()
    player.assert_chips(**{"small": 100, "total:10": 200})


def test_favourites_are_saved_renamed_placed_and_deleted(house: House, new_user: NewUser) -> None:
    player = PlayerPage(house, "p4", new_user)
    player.open_betting()
    player.place("big", "triple:6")
    player.toolbar_button("Favourites").click()
    for i in range(1, 16):
        player.page.get_by_label("Name", exact=True).fill(f"Set {i}")
        player.button("Save").click()
    expect(player.page.get_by_role("listitem").filter(has_text="Set ")).to_have_count(15)
    player.page.get_by_label("Name", exact=True).fill("Set 7")
    player.button("Save").click()
    expect(player.page.get_by_role("alert").filter(has_text="of this name already")).to_be_visible()
    player.button("Rename Set 7").click()
    player.page.get_by_label("New name").fill("Lucky")
    renamed = player.page.get_by_role("listitem").get_by_role("button", name="Save", exact=True)
    renamed.click()
    player.button("Delete Set 8").click()
    player.page.reload()
    player.toolbar_button("Clear").click()
    player.assert_chips(**{"big": 0, "triple:6": 0})
    player.toolbar_button("Favourites").click()
    expect(player.button("Place Set 8")).to_have_count(0)
    player.button("Place Lucky").click()
    player.assert_chips(**{"big": 100, "triple:6": 100})


@pytest.mark.clause("sg-rws-tai-sai-v6 3.4")
def test_set_of_bets_over_stack_or_limit_is_not_placed(house: House, new_user: NewUser) -> None:
    player = PlayerPage(house, "p5", new_user, amount=70_000)
    player.open_betting()
    player.place("total:9")
    player.chip(100).click()
    player.place("big", "big", "big", "big")
    player.toolbar_button("Double").click()
    expect(player.refusal).to_contain_text("It takes 401; your stack is 299")
    expect(player.refusal).to_contain_text("None of it was placed or taken")
    player.assert_chips(**{"big": 40_000, "total:9": 100})
    house.buy_in("p5", amount=1_000_000)
    player.toolbar_button("Double").click()
    player.assert_chips(**{"big": 80_000, "total:9": 200})
    player.toolbar_button("Double").click()
    expect(player.refusal).to_contain_text("Big: 800 is more than fits; there is room for 200")
    expect(player.refusal).to_contain_text("3.5")
    player.assert_chips(**{"big": 80_000, "total:9": 200})


def test_partly_refused_set_of_bets_is_rolled_back(house: House, new_user: NewUser) -> None:
    """Another player fills a box between the check of the room and the bet."""
    player = PlayerPage(house, "p6", new_user)
    other = house.buy_in("p6", "player2")
    player.open_betting()
    player.place("big", "small")
    player.chip(100).click()
    player.place("total:9")
    filled: list[str] = []

    def fill_small(route: Route) -> None:
        body = route.request.post_data or ""
        if '"PlaceBet"' in body and '"small"' in body and not filled:
            filled.append(body)
            fields = {"player": other, "box": "small", "amount": 99_900}
            house.send("player2", "p6", "PlaceBet", **fields)
        route.continue_()

    player.page.route("**/commands", fill_small)
    player.toolbar_button("Double").click()
    expect(player.refusal).to_contain_text("Small")
    expect(player.refusal).to_contain_text("more than fits: 0 of the maximum of 1,000 is left.")
    expect(player.refusal).to_contain_text("taken back again; everything lies as before")
    player.assert_chips(**{"big": 100, "small": 100, "total:9": 10_000})


def test_refusal_is_a_sentence_with_the_clauses_that_apply_folded_away(
    house: House, new_user: NewUser
) -> None:
    player = PlayerPage(house, "p7", new_user)
    other = house.buy_in("p7", "player2")
    player.open_betting()
    house.send("player2", "p7", "PlaceBet", player=other, box="big", amount=95_000)
    expect(player.page.get_by_test_id("room-big")).to_have_text("50")
    player.chip(100).click()
    player.box("big").click()
    expect(player.refusal).to_contain_text("100 is more than fits: 50 of the maximum of 1,000 is")
    player.assert_chips(big=0)
    cited = player.refusal.locator("summary")
    expect(cited).to_have_text("Clause 3.5, 5.1")
    clause = player.refusal.locator("dd[lang=en]").first
    expect(clause).to_be_hidden()
    cited.press("Enter")
    expect(clause).to_contain_text("the limit belongs to the box")
    player.page.get_by_label("Language").select_option("zh-Hant")
    player.box("big").click()
    expect(player.refusal).to_contain_text("100 超過上限：1,000 之中尚餘 50。")


def test_chip_is_pending_until_the_server_accepts_the_bet(house: House, new_user: NewUser) -> None:
    player = PlayerPage(house, "p8", new_user)
    player.open_betting()
    held = player.hold_commands()
    player.box("big").click()
    expect(player.box("big")).to_have_attribute(
        "aria-label", contains("on their way, not accepted yet")
    )
    expect(player.page.get_by_test_id("going")).to_have_text(format_amount(100))
    expect(player.page.get_by_test_id("stack")).to_have_text(format_amount(1_000_000))
    expect(player.page.get_by_test_id("staked")).to_have_text(format_amount(0))
    held.release()
    expect(player.box("big")).not_to_have_attribute("aria-label", contains("on their way"))
    player.assert_chips(big=100)


def test_bet_that_arrives_after_close_is_shown_as_refused(house: House, new_user: NewUser) -> None:
    player = PlayerPage(house, "p9", new_user)
    player.open_betting()
    held = player.hold_commands()
    player.box("big").click()
    expect(player.page.get_by_test_id("going")).to_be_visible()
    held.wait()
    player.deal("close-betting")
    held.release()
    expect(player.refusal).to_contain_text("Betting is closed")
    player.assert_chips(big=0)


def test_buy_in_and_cash_out_change_the_account_balance(house: House, new_user: NewUser) -> None:
    player = PlayerPage(house, "p10", new_user, amount=0)
    account = f"/api/accounts/{player.account}"
    before = house.get(account, "player")["balance"]
    expect(player.page.get_by_text("Buy in from your account to play")).to_be_visible()
    player.button("Buy in").click()
    expect(player.page.get_by_test_id("balance")).to_have_text(format_amount(before))
    player.page.get_by_label("Amount in SGD").fill("250.50")
    player.button("Buy chips").click()
    expect(player.refusal.last).to_contain_text("cannot be made in chips of 1")
    player.page.get_by_label("Amount in SGD").fill("250")
    player.button("Buy chips").click()
    player.assert_in_sync()
    assert player.seat()["stack"] == 25_000
    player.button("Cash out").click()
    player.page.get_by_label("Amount in SGD").fill("100")
    player.page.get_by_role("dialog").get_by_role("button", name="Cash out").click()
    expect(player.page.get_by_test_id("stack")).to_have_text(format_amount(15_000))
    assert house.get(account, "player")["balance"] == before - 15_000


def test_player_bets_by_keyboard_alone(house: House, new_user: NewUser) -> None:
    player = PlayerPage(house, "p11", new_user)
    player.open_betting()
    keys = player.page.keyboard
    player.chip(1).focus()
    keys.press("ArrowRight")
    expect(player.chip(5)).to_be_focused()
    player.box("big").focus()
    keys.press("Enter")
    keys.press("ArrowRight")
    keys.press("Space")
    expect(player.page.get_by_test_id("box-panel")).to_contain_text("Double 6")
    player.assert_chips(**{"big": 500, "double:6": 500})
    keys.press("Delete")
    player.assert_chips(**{"big": 500, "double:6": 0})
    keys.press("Control+z")
    player.assert_chips(**{"big": 500, "double:6": 500})
    player.toolbar_button("Clear").focus()
    keys.press("Enter")
    player.assert_chips(**{"big": 0, "double:6": 0})


def test_player_bets_and_takes_back_by_touch_on_a_phone(house: House, new_user: NewUser) -> None:
    player = PlayerPage(house, "p12", new_user, size="phone")
    player.open_betting()
    player.chip(5).tap()
    player.box("big").tap()
    player.assert_chips(big=500)
    player.page.get_by_role("region", name="Stack, chip and time").get_by_role(
        "button", name="Undo"
    ).tap()
    player.assert_chips(big=0)
    player.box("big").tap()
    player.assert_chips(big=500)
    player.box("big").dispatch_event("pointerdown", {"pointerType": "touch", "bubbles": True})
    player.assert_chips(big=0)


def test_chips_stay_on_the_area_where_they_were_placed(house: House, new_user: NewUser) -> None:
    player = PlayerPage(house, "ends", new_user)
    player.open_betting()
    player.place("big@left", "big@right", "big@right")
    player.assert_chips(**{"big@left": 100, "big@right": 200})
    player.toolbar_button("Double").click()
    player.assert_chips(**{"big@left": 200, "big@right": 400})
    player.box("big@right").click(button="right")
    player.assert_chips(**{"big@left": 200, "big@right": 300})
    player.finish_round()
    expect(player.box("big@left")).to_have_attribute("aria-label", contains("lost 2.00"))
    player.assert_in_sync()


def test_player_with_a_colour_bets_chips_of_its_value(house: House, new_user: NewUser) -> None:
    player = PlayerPage(house, "own", new_user)
    house.send("dealer", "own", "TakeColour", player=player.account, colour="blue", value=500)
    expect(player.page.get_by_text("You play blue chips, worth 5 each.")).to_be_visible()
    player.deal("tumble")
    player.open_betting()
    player.place("big")
    player.assert_chips(big=500)


def contains(words: str) -> re.Pattern[str]:
    return re.compile(re.escape(words))


def test_long_press_describes_the_box_and_takes_chips_back(house: House, new_user: NewUser) -> None:
    player = PlayerPage(house, "p13", new_user, size="phone")
    player.open_betting()
    place = box_of(player.box("big"))
    finger = [{"x": place["x"] + place["width"] / 2, "y": place["y"] + place["height"] / 2}]
    screen = player.user.context.new_cdp_session(player.page)

    def press() -> None:
        screen.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": finger})

    def let_go() -> None:
        screen.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})

    press()
    expect(player.page.get_by_test_id("box-panel")).to_contain_text("Big")
    let_go()
    player.assert_chips(big=0)
    player.box("big").tap()
    player.assert_chips(big=100)
    press()
    expect(player.box("big")).to_have_attribute("aria-label", chips_label(0))
    let_go()
    player.assert_chips(big=0)
