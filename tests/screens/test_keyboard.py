"""The keyboard: fields, Enter and Escape of dialogs, and the keys of the dealer's page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.screens.browser import accessibility_violations, box_of, wait_until_loaded
from tests.screens.house import House, house_toml, table_toml
from tests.screens.player_page import PlayerPage
from tests.screens.table_screens import wait_for_step

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page

    from tests.screens.browser import NewUser

GAME = "sg-rws-tai-sai-v6/a"
DEALT = ("amend", "keys", "flag", "lights", "unequal", "short")

BUTTONS_WITHOUT_KEY = """() => {
  const shown = new Set([...document.querySelectorAll("main kbd")]
    .filter((each) => each.checkVisibility()).map((each) => each.innerText.trim()));
  const symbols = { Enter: "⏎", Escape: "Esc", Plus: "+" };
  const keyOf = (each) => each.closest("[aria-keyshortcuts]")?.getAttribute("aria-keyshortcuts");
  return [...document.querySelectorAll("main :is(button, [role=button], select)")]
    .filter((each) => each.checkVisibility() && !each.closest("dialog, [role=alert]"))
    .filter((each) => !shown.has(symbols[keyOf(each)] ?? keyOf(each)))
    .map((each) => each.ariaLabel ?? each.innerText);
}"""
"""The acts on the dealer's page that no key reaches, or whose key is not shown."""

ESCAPE_THEN_KEY = """async (key) => {
  document.querySelector("dialog").dispatchEvent(new Event("cancel"));
  while (document.querySelector("dialog")) await Promise.resolve();
  document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
}"""
"""Closes the open dialog, and presses a key before the browser fires the dialog's close event."""


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    tables = house_toml(dict.fromkeys((*DEALT, "closed"), GAME))
    electronic = "".join(table_toml(name, GAME, "refuse") for name in ("buy", "rebet"))
    with House(tmp_path_factory.mktemp("keyboards"), tables + electronic) as house:
        for table in DEALT:
            house.pass_checks(table)
        yield house


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def test_wrong_entry_is_amended_by_keys_alone(house: House, new_user: NewUser) -> None:
    page = new_user(house).sign_in("dealer", "/deal/amend")
    house.deal("amend", (1, 2, 3), until="illuminate")
    expect(page.get_by_role("button", name="Amend")).to_be_visible()

    press(page, "a")
    expect(page.get_by_test_id("picked")).to_be_visible()
    press(page, "1", "3", "Enter")
    expect(page.get_by_test_id("picked")).to_have_attribute("data-faces", "13")  # nothing to send
    press(page, "6", "Enter")

    expect(page.get_by_role("dialog")).to_have_count(0)
    (request,) = house.get("/api/requests?table=amend")
    assert request["command"]["dice"] == [1, 3, 6]


def test_closed_table_is_opened_by_keys_alone(house: House, new_user: NewUser) -> None:
    house.send("supervisor", "closed", "CloseTable")
    page = new_user(house).sign_in("supervisor", "/deal/closed")
    float_field = page.get_by_test_id("closed").get_by_label("Float")
    expect(float_field).to_be_focused()

    press(page, "Enter")  # without a float nothing is sent
    page.keyboard.type("5000")
    press(page, "Escape", "n", "Tab")
    expect(float_field).to_be_focused()
    before = box_of(float_field)
    press(page, "Enter")
    reason = page.get_by_label("Reason")
    expect(reason).to_be_visible()  # a second person approves it
    assert box_of(float_field) == before
    reason.focus()
    page.keyboard.type("evening shift")
    press(page, "Enter")

    request = page.get_by_test_id("request")
    expect(request).to_contain_text("evening shift")
    expect(request).to_be_in_viewport()
    waiting = page.get_by_role("button", name="Waiting for a second person")
    expect(waiting).to_be_disabled()
    press(page, "n", "Enter")  # asked once: nothing else is sent
    (asked,) = house.get("/api/requests?table=closed")
    assert asked["command"]["float_amount"] == 500_000
    request.get_by_role("button", name="Take back").click()
    expect(page.get_by_role("button", name="Open the table")).to_be_enabled()


def test_key_of_a_held_step_goes_to_the_reason_and_sends_nothing(
    house: House, new_user: NewUser
) -> None:
    page = new_user(house).sign_in("dealer", "/deal/unequal")
    expect(page.get_by_role("heading", name="Unequal", exact=True)).to_be_visible()
    house.deal("unequal", (1, 2, 3), until="enter-result")
    for key in (1, 2, 4):
        house.send("dealer", "unequal", "PressKey", key=key)
    house.send("dealer", "unequal", "PressEnter")
    expect(page.get_by_test_id("held")).to_contain_text("1, 2, 4")
    version = house.get("/api/tables/unequal")["version"]

    press(page, "n")

    expect(page.get_by_test_id("held")).to_be_focused()
    assert house.get("/api/tables/unequal")["version"] == version


def test_call_with_fewer_than_three_dice_says_what_is_missing(
    house: House, new_user: NewUser
) -> None:
    page = new_user(house).sign_in("dealer", "/deal/short")
    house.deal("short", (1, 2, 3), until="call-result")
    wait_for_step(page, "uncover")

    press(page, "1", "2", "Enter")
    expect(page.get_by_test_id("words")).to_have_text("Press what the dice show, then Enter.")
    press(page, "3")
    expect(page.get_by_test_id("words")).to_have_text("1, 2, 3, total 6")


def test_player_buys_in_by_keys_alone(house: House, new_user: NewUser) -> None:
    player = PlayerPage(house, "buy", new_user, amount=0)
    opener = player.button("Buy in")
    opener.press("Enter")
    field = player.page.get_by_role("dialog").get_by_role("textbox")
    expect(field).to_be_focused()

    press(player.page, "Escape")
    expect(opener).to_be_focused()
    press(player.page, "Enter")
    expect(field).to_be_focused()
    player.page.keyboard.type("500")
    press(player.page, "Enter")

    expect(player.page.get_by_role("dialog")).to_have_count(0)
    expect(player.page.get_by_test_id("stack")).to_have_text("500.00")
    expect(opener).to_be_focused()


def test_rebet_pressed_twice_places_the_last_bets_once(house: House, new_user: NewUser) -> None:
    player = PlayerPage(house, "rebet", new_user)
    player.open_betting()
    player.place("big", "big", "total:9")
    player.finish_round()
    player.open_betting()
    player.place("big")

    player.toolbar_button("Rebet").dblclick()

    player.assert_chips(**{"big": 200, "total:9": 100})
    expect(player.toolbar_button("Rebet")).to_be_disabled()


@pytest.mark.parametrize(
    ("key", "opener", "field"),
    [
        ("w", "New player…", "Name or card number"),
        ("h", "Chips: Seat 1", "Amount (SGD)"),
        ("m", "Table…", "Reason"),
        ("q", "Equipment…", ""),
    ],
)
def test_dialog_of_the_dealer_opens_by_its_key_at_its_first_field_and_returns_the_focus(
    house: House, new_user: NewUser, key: str, opener: str, field: str
) -> None:
    page = new_user(house).sign_in("dealer", "/deal/keys")
    house.buy_in("keys")
    button = page.get_by_role("button", name=opener)
    expect(page.locator("[data-player]")).to_have_count(1)
    press(page, "p")
    dialog = page.get_by_role("dialog")

    press(page, key)
    focused = (
        dialog.get_by_label(field, exact=True) if field else dialog.get_by_role("heading").first
    )
    expect(focused).to_be_focused()
    press(page, "Escape")
    expect(dialog).to_have_count(0)
    button.press("Enter")
    expect(focused).to_be_focused()
    press(page, "Escape")

    expect(button).to_be_focused()


def test_key_pressed_right_after_escape_opens_the_next_dialog(
    house: House, new_user: NewUser
) -> None:
    page = new_user(house).sign_in("dealer", "/deal/lights")
    expect(page.get_by_test_id("next")).to_be_enabled()
    press(page, "m")
    expect(page.get_by_role("dialog", name="Lights")).to_be_visible()

    page.evaluate(ESCAPE_THEN_KEY, "q")

    expect(page.get_by_role("dialog", name="Equipment")).to_be_visible()


def test_dealer_seats_a_player_by_keys_alone(house: House, new_user: NewUser) -> None:
    page = new_user(house).sign_in("dealer", "/deal/lights")
    expect(page.get_by_test_id("next")).to_be_enabled()

    press(page, "w")
    search = page.get_by_role("combobox", name="Name or card number")
    expect(search).to_be_focused()
    page.keyboard.type("play")
    found = page.get_by_role("listbox").get_by_role("option")
    expect(found).to_have_count(2)
    press(page, "ArrowDown")
    expect(found.last).to_have_attribute("aria-selected", "true")
    expect(found.last).to_contain_text("player2")
    press(page, "Enter")
    expect(page.get_by_test_id("chosen")).to_contain_text("player2")
    expect(page.get_by_label("Amount")).to_be_focused()
    press(page, "Enter")  # without an amount nothing is sent
    page.keyboard.type("250")
    press(page, "Enter")

    seat = page.locator(f"[data-player='{house.account_id('player2')}']")
    expect(seat.get_by_test_id("stack")).to_have_text("250.00")


def test_every_act_on_the_dealer_page_shows_and_has_a_key(house: House, new_user: NewUser) -> None:
    page = new_user(house).sign_in("dealer", "/deal/flag")
    player = house.buy_in("flag", amount=1_000_000)
    for step in ("open-betting", "close-betting", "tumble", "uncover", "call-result"):
        if step == "close-betting":
            house.send("player", "flag", "PlaceBet", player=player, box="big", amount=150_000)
            expect(page.locator("[data-flag=maximum]")).to_be_visible()
            press(page, "p")
            wait_until_loaded(page)
            assert page.evaluate(BUTTONS_WITHOUT_KEY) == []
            assert accessibility_violations(page) == []
            press(page, "r")
            expect(page.locator("[data-flag=maximum]")).to_have_count(0)
        house.take_step("flag", step, (1, 2, 3))
        wait_for_step(page, step)
        wait_until_loaded(page)
        assert page.evaluate(BUTTONS_WITHOUT_KEY) == []


def test_felt_and_irregularities_are_one_key_away(house: House, new_user: NewUser) -> None:
    page = new_user(house).sign_in("dealer", "/deal/keys")
    expect(page.get_by_test_id("next")).to_be_enabled()
    expect(page.locator("[data-area]").first).to_be_visible()

    press(page, "l")
    expect(page.locator("[data-area]").first).to_be_focused()
    press(page, "i")
    expect(page.locator("[data-irregularity]").first).to_be_focused()
    press(page, "ArrowDown")
    expect(page.locator("[data-irregularity]").nth(1)).to_be_focused()
    press(page, "Enter")
    expect(page.get_by_role("dialog").get_by_test_id("consequence")).to_be_visible()
    press(page, "Escape")
    expect(page.locator("[data-irregularity]").nth(1)).to_be_focused()
