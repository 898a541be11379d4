"""The results board: past results, live updates, reconnecting and signing in again."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.screens.browser import assert_soon, box_of
from tests.screens.house import House, house_toml

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Locator, Page

    from tests.screens.browser import NewUser

ROLLS = [(1, 2, 3), (6, 6, 5), (4, 4, 4), (6, 5, 4), (5, 5, 1), (1, 1, 2)]
SIDES = ["small", "big", "triple", "big", "big", "small"]
GAMES = {
    "sg-c": "sg-rws-tai-sai-v6/c",
    "sg-a": "sg-rws-tai-sai-v6/a",
    "calls": "sg-rws-tai-sai-v6/a",
    "triple": "sg-rws-tai-sai-v6/a",
    "crown": "crown-and-anchor/main",
}

CALLS = [
    ((6, 6, 5), "big", "大 BIG"),
    ((4, 4, 4), "triple", "圍骰 TRIPLE Small & Big lose"),
    ((1, 1, 2), "small", "小 SMALL"),
]
LETTER_HEIGHT = """(element) => {
  const drawing = document.createElement("canvas").getContext("2d");
  drawing.font = getComputedStyle(element).font;
  return drawing.measureText("B").actualBoundingBoxAscent;
}"""
"""The height of a capital letter in pixels of the page."""

READ_COUNTS = "all => all.map((cell) => Number(cell.firstChild.data))"


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """Run a house whose tables have results already."""
    with House(tmp_path_factory.mktemp("boards"), house_toml(GAMES)) as house:
        for table in ("sg-c", "crown"):
            house.pass_checks(table)
            for roll in ROLLS:
                house.deal(table, roll)
            house.round_result(table, len(ROLLS))
        yield house


def beads(page: Page, road: str) -> list[str | None]:
    plate = page.locator(f'[data-road="{road}"] svg.plate').first
    return [each.get_attribute("data-outcome") for each in plate.locator("[data-outcome]").all()]


def test_board_shows_the_past_results_of_its_table(house: House, new_user: NewUser) -> None:
    page = new_user(house, "board").sign_in("player", "/board/sg-c")
    expect(page.get_by_test_id("call")).to_have_text("double 1, 2, total 4")
    expect(page.get_by_test_id("total")).to_have_text("4")
    expect(page.get_by_test_id("last-results").locator("li")).to_have_count(len(ROLLS))
    assert_soon(page, lambda: beads(page, "small big"), SIDES)
    even_odd = ["even", "odd", "triple", "odd", "odd", "even"]
    assert_soon(page, lambda: beads(page, "odd even"), even_odd)
    faces = page.get_by_test_id("counts").locator("table").first.locator("tbody tr").last
    counted = [sum(roll.count(face) for roll in ROLLS) for face in range(1, 7)]
    assert_soon(page, lambda: faces.locator("td").evaluate_all(READ_COUNTS), counted)


def test_board_cites_the_clause_by_which_the_dice_prevail(house: House, new_user: NewUser) -> None:
    page = new_user(house, "board").sign_in("player", "/board/sg-c")
    expect(page.get_by_text("Dice have no memory")).to_be_visible()
    expect(page.get_by_test_id("prevail")).to_contain_text("(Clause 5.11)")
    page.goto("/board/crown")
    expect(page.get_by_test_id("prevail")).to_have_text("The dice prevail over this display.")


def test_board_shows_the_road_of_odd_and_even_only_where_they_are_bets(
    house: House, new_user: NewUser
) -> None:
    page = new_user(house, "board").sign_in("player", "/board/sg-c")
    expect(page.locator("[data-road]")).to_have_count(2)
    page.goto("/board/sg-a")
    expect(page.locator("[data-road]")).to_have_count(1)
    expect(page.locator('[data-road="small big"]')).to_be_visible()


def test_board_follows_a_round_from_the_close_of_betting_to_the_call(
    house: House, new_user: NewUser
) -> None:
    page = new_user(house, "board").sign_in("player", "/board/calls")
    house.pass_checks("calls")
    latest, headline = page.get_by_test_id("latest"), page.get_by_test_id("headline")
    for number, (roll, side, words) in enumerate(CALLS, 1):
        house.deal("calls", roll, until="tumble")
        expect(latest).to_have_attribute("data-state", "cleared")
        expect(page.get_by_test_id("which")).to_have_text(f"Round {number}: the dice are awaited")
        expect(page.get_by_test_id("dice").get_by_role("img")).to_have_count(0)
        expect(headline).to_have_count(0)
        house.deal("calls", roll, until="enter-result")
        expect(headline).to_have_text(words)
        expect(headline).to_have_attribute("data-outcome", side)
        sides = [side for _, side, _ in CALLS[:number]]
        assert_soon(page, partial(beads, page, "small big"), sides)
        expect(page.get_by_test_id("last-results").locator("li")).to_have_count(number)
        house.deal("calls", roll)
        expect(page.get_by_test_id("which")).to_have_text(f"Last result, round {number}")
        expect(headline).to_have_text(words)


def test_headline_of_the_board_is_readable_from_5_m_on_55_inches(
    house: House, new_user: NewUser
) -> None:
    house.pass_checks("triple")
    house.deal("triple", (4, 4, 4))
    page = new_user(house, "board").sign_in("player", "/board/triple")
    headline = page.get_by_test_id("headline")
    screen_width_mm = 55 * 25.4 * 16 / math.hypot(16, 9)
    for words in ("圍骰 TRIPLE", "Small & Big lose"):
        height_px = headline.get_by_text(words).evaluate(LETTER_HEIGHT)
        arc_minutes = 60 * math.degrees(math.atan(height_px * screen_width_mm / 1920 / 5000))
        assert arc_minutes >= 20, words


def test_board_shows_new_results_and_void_rounds_without_a_reload(
    house: House, new_user: NewUser
) -> None:
    page = new_user(house, "board").sign_in("player", "/board/sg-a")
    house.pass_checks("sg-a")
    expect(page.get_by_test_id("which")).to_have_text("No result yet")
    house.deal("sg-a", (2, 3, 3), until="close-betting")
    expect(page.get_by_test_id("phase")).to_have_text("Place your Bets, please")
    house.deal("sg-a", (2, 3, 3), until="enter-result")
    expect(page.get_by_test_id("which")).to_have_text("Result of round 1")
    expect(page.get_by_test_id("call")).to_have_text("2, double 3, total 8")
    house.deal("sg-a", (2, 3, 3))
    expect(page.locator('[data-road="small big"] svg.plate [data-outcome=small]')).to_have_count(2)
    house.send("dealer", "sg-a", "OpenBetting")
    house.send("dealer", "sg-a", "AbandonRound", reason="the lights went out")
    expect(page.get_by_test_id("void")).to_have_text("Round 2 is void")
    assert_soon(page, lambda: beads(page, "small big"), ["small"])


def test_board_of_a_symbol_game_shows_symbols_and_no_total(house: House, new_user: NewUser) -> None:
    page = new_user(house, "board").sign_in("player", "/board/crown")
    expect(page.get_by_test_id("call")).to_have_text("double crown, anchor")
    outcomes = [
        "different-3", "different-2", "triple", "different-3", "different-2", "different-2",
    ]  # fmt: skip
    assert_soon(page, lambda: beads(page, "different"), outcomes)
    expect(page.get_by_test_id("shown").get_by_role("img")).to_have_count(6)
    expect(page.get_by_test_id("total")).to_have_count(0)


def test_board_reconnects_after_the_server_was_killed(
    new_user: NewUser, tmp_path_factory: pytest.TempPathFactory
) -> None:
    toml = house_toml({"sg-c": GAMES["sg-c"]})
    with House(tmp_path_factory.mktemp("killed"), toml) as house:
        house.pass_checks("sg-c")
        page = new_user(house, "board").sign_in("player", "/board/sg-c")
        house.deal("sg-c", (1, 2, 3))
        expect(page.get_by_test_id("total")).to_have_text("6")
        house.kill()
        expect(page.get_by_test_id("cut-off")).to_be_visible()
        house.start()
        expect(page.get_by_test_id("cut-off")).to_be_hidden()
        house.deal("sg-c", (6, 6, 5))
        expect(page.get_by_test_id("total")).to_have_text("17")


def test_board_asks_for_sign_in_when_its_session_has_ended(house: House, new_user: NewUser) -> None:
    user = new_user(house, "board")
    page = user.sign_in("player2", "/board/sg-c")
    expect(page.get_by_test_id("total")).to_be_visible()
    session = user.context.request.get("/api/session").json()["session"]
    ended = house.client("player2").delete(f"/api/sessions/{session}")
    assert ended.is_success, ended.text
    expect(page.get_by_test_id("ended")).to_contain_text("The board comes back by itself")
    user.sign_in("player2", "/board/sg-c")
    expect(page.get_by_test_id("total")).to_be_visible()


@pytest.mark.parametrize(
    ("size", "lang", "table"),
    [("desk", "en", "sg-c"), ("board", "zh-Hans", "sg-c"), ("board", "en", "triple")],
)
def test_board_fits_the_screen_without_scrolling(
    house: House, new_user: NewUser, size: str, lang: str, table: str
) -> None:
    page = new_user(house, size, lang).sign_in("player", f"/board/{table}")
    expect(page.get_by_test_id("counts")).to_be_visible()
    height = page.viewport_size["height"] if page.viewport_size else 0
    counts = box_of(page.get_by_test_id("counts"))
    assert bottom_of(page.locator(".honest")) <= height, "the last line is below the screen"
    for above in (page.get_by_test_id("last-results"), page.get_by_test_id("road").last):
        assert bottom_of(above) <= counts["y"], "the counts are covered"


def bottom_of(place: Locator) -> float:
    box = box_of(place)
    return box["y"] + box["height"]
