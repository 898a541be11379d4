"""The first minute at a table: chips on the way to a bet, the tour, rules, and closed betting."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.screens.browser import accessibility_violations, box_of, wait_until_loaded
from tests.screens.house import House, house_toml, table_toml
from tests.screens.house_server import PASSWORD
from tests.screens.player_page import PlayerPage, chips_label

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Locator, Page

    from tests.screens.browser import NewUser

GAME = "sg-rws-tai-sai-v6/a"
MOST_TAPS = 5
NEAR_PX = 8
DEALT_BY_HOUSE = "dealt_by_house = { betting_seconds = 600 }\n"
READ_BUTTONS = """() => [...document.querySelectorAll("main button, main a, [data-area]")]
.filter((each) => !each.closest(".alerts, .connection"))
.map((each) => {
  const {x, y, width, height} = each.getBoundingClientRect();
  return [each.ariaLabel ?? each.textContent.trim(), x, y, width, height].map((part) =>
    typeof part === "number" ? Math.round(part) : part.split(",")[0]);
})"""


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """Run a house with a table that it deals, and tables that people deal."""
    toml = table_toml("first-table", GAME, "refuse") + DEALT_BY_HOUSE
    people = dict.fromkeys(("staffed", "later", "alerts", "covered"), GAME)
    with House(tmp_path_factory.mktemp("first"), house_toml(people, "refuse") + toml) as house:
        house.pass_checks("first-table")
        yield house


def test_newcomer_has_a_bet_on_the_felt_within_five_taps(house: House, new_user: NewUser) -> None:
    taps: list[str] = []

    def tap(place: Locator, name: str) -> None:
        taps.append(name)
        place.tap()

    page = new_user(house, "phone").page
    page.goto("/")
    page.get_by_label("Name", exact=True).fill("player")
    page.get_by_label("Password").fill(PASSWORD)
    tap(page.get_by_role("button", name="Sign in"), "sign in")
    tap(page.get_by_role("link", name="Play at First Table"), "table")
    expect(page.get_by_role("heading", name="First Table")).to_be_visible()
    expect(page.get_by_test_id("phase")).to_contain_text(re.compile("place your bets", re.I))
    big = page.get_by_role("button", name=re.compile("^Big,"))
    tap(big, "box")
    tap(page.get_by_role("button", name="Buy chips and bet 1 on Big"), "buy and bet")
    expect(big).to_have_attribute("aria-label", chips_label(100))
    assert len(taps) <= MOST_TAPS
    bar = page.get_by_role("region", name="Stack, chip and time")
    for name in ("Buy in", "Rebet", "Undo"):
        expect(bar.get_by_role("button", name=name)).to_be_in_viewport()
    expect(bar).to_contain_text(re.compile(r"\d+\s+s"))


def test_tour_is_shown_once_and_opened_again_by_keyboard(house: House, new_user: NewUser) -> None:
    page = new_user(house).sign_in("player2", "/table/first-table")
    tour = page.get_by_test_id("tour")
    expect(tour).to_contain_text("1 of 4")
    assert accessibility_violations(page) == []
    tour.get_by_role("button", name="Skip").click()
    expect(tour).to_be_hidden()
    page.reload()
    opener = page.get_by_role("button", name="How to play")
    expect(opener).to_be_visible()
    expect(tour).to_be_hidden()
    opener.press("Enter")
    tour.get_by_role("button", name="Next").press("Enter")
    expect(tour).to_contain_text("2 of 4")
    page.keyboard.press("Escape")
    expect(tour).to_be_hidden()
    page.get_by_role("button", name="Rules").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("link")).to_have_attribute("href", f"/odds/{GAME}")
    expect(dialog).to_contain_text("pays", ignore_case=True)
    expect(dialog).to_contain_text("by Dealer")  # as the rulebook names the role


def test_tap_while_betting_is_closed_says_why_at_the_box(house: House, new_user: NewUser) -> None:
    player = PlayerPage(house, "staffed", new_user)
    page, hint = player.page, player.page.get_by_test_id("hint")
    expect(page.get_by_test_id("phase")).to_contain_text("Nobody deals here now")
    player.box("small").click(force=True)
    expect(hint).to_contain_text("betting opens when a dealer comes")
    player.open_betting()
    expect(hint).to_be_hidden()
    player.deal("close-betting")
    expect(page.get_by_test_id("phase")).to_contain_text("No more Bets")
    player.box("total:9").click(force=True)
    expect(hint).to_contain_text("betting on this round has closed")
    expect(page.locator("[aria-live=assertive]")).to_contain_text(
        "betting on this round has closed"
    )
    box, bubble = box_of(player.box("total:9")), box_of(hint)
    assert bubble["x"] < box["x"] + box["width"]
    assert box["x"] < bubble["x"] + bubble["width"]
    above = box["y"] - bubble["y"] - bubble["height"]
    below = bubble["y"] - box["y"] - box["height"]
    assert min(abs(above), abs(below)) < NEAR_PX
    player.assert_chips(**{"total:9": 0})


def test_reason_at_a_box_is_not_covered_by_the_bar_of_a_phone(
    house: House, new_user: NewUser
) -> None:
    player = PlayerPage(house, "covered", new_user, size="phone")
    page = player.page
    player.deal("open-betting", "close-betting")
    expect(page.get_by_test_id("phase")).to_contain_text("No more Bets")
    wait_until_loaded(page)

    player.box("double:6").click(force=True)

    expect(page.get_by_test_id("hint")).to_contain_text("betting on this round has closed")
    bar = box_of(page.get_by_role("region", name="Stack, chip and time"))
    bubble = box_of(page.get_by_test_id("hint"))
    assert bubble["y"] + bubble["height"] <= bar["y"]


def test_bet_that_chips_were_bought_for_waits_for_the_next_betting_and_another_tap(
    house: House, new_user: NewUser
) -> None:
    player = PlayerPage(house, "later", new_user, amount=0)
    player.deal("open-betting", "close-betting")
    expect(player.page.get_by_test_id("phase")).to_contain_text("No more Bets")
    player.box("small").click(force=True)
    dialog = player.page.get_by_role("dialog")
    expect(dialog).to_contain_text("Your bet on Small is not placed")
    dialog.get_by_role("button", name="Buy chips", exact=True).click()
    player.assert_in_sync()
    player.finish_round()
    player.open_betting()
    expect(player.page.get_by_test_id("hint")).to_contain_text("Tap the box to place 1.")
    player.assert_chips(small=0)
    player.place("small")
    player.assert_chips(small=100)


def test_alerts_move_no_button(house: House, new_user: NewUser) -> None:
    player = PlayerPage(house, "alerts", new_user, amount=5_000)
    page = player.page
    page.emulate_media(reduced_motion="reduce")
    player.open_betting()
    player.chip(100).click()
    expect(player.chip(100)).to_have_attribute("aria-checked", "true")
    before = buttons(page)
    assert {each[0] for each in before} >= {"Rules", "Buy in", "Big"}
    player.box("big").focus()
    page.keyboard.press("Enter")
    expect(player.refusal).to_be_visible()
    assert buttons(page) == before
    player.user.context.set_offline(offline=True)
    expect(page.get_by_test_id("cut-off")).to_be_visible()
    assert buttons(page) == before
    player.user.context.set_offline(offline=False)
    expect(page.get_by_test_id("cut-off")).to_be_hidden()


def buttons(page: Page) -> list[list[Any]]:
    wait_until_loaded(page)
    found: list[list[Any]] = page.evaluate(READ_BUTTONS)
    return found


def test_dealers_are_offered_only_the_tables_that_people_deal(
    house: House, new_user: NewUser
) -> None:
    page = new_user(house).sign_in("dealer")
    expect(page.get_by_role("link", name="Deal at Staffed")).to_be_visible()
    automatic = page.locator("article[data-table=first-table]")
    expect(automatic.get_by_role("link")).to_have_text(["Board"])
