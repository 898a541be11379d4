"""The felt of every layout: areas, labels, lamps, keyboard and touch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

import threedice
from tests.screens.browser import (
    BrowserUser,
    box_of,
    close_windows,
    is_wider_than_screen,
    wait_until_loaded,
)
from tests.screens.house import GAMES
from threedice.dice import ROLLS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

    from tests.screens.browser import NewUser
    from tests.screens.house import House
    from threedice.rulebook import Game
    from threedice.rulebook.felt import Felt

MAIN = {"big", "small", "odd", "even", "single", "any-triple", "red", "black", "shooter"}
HALF_A_PIXEL = 0.5


@dataclass(frozen=True)
class FeltPage:
    """A page with the felt of a layout, and the game it belongs to."""

    page: Page
    game: Game
    felt: Felt


def open_felt(browser: Browser, house: House, layout: str, size: str) -> Iterator[FeltPage]:
    user = BrowserUser(browser, house, size)
    user.page.emulate_media(reduced_motion="reduce")  # lamps light at once
    page = user.sign_in("player", f"/odds/{GAMES[layout]}")
    wait_until_loaded(page)
    game = threedice.load(GAMES[layout])
    assert game.felt
    yield FeltPage(page, game, game.felt)
    close_windows([user])


@pytest.fixture(scope="module", params=GAMES)
def desk_felt(request: pytest.FixtureRequest, browser: Browser, house: House) -> Iterator[FeltPage]:
    yield from open_felt(browser, house, request.param, "desk")


@pytest.fixture(scope="module", params=GAMES)
def phone_felt(
    request: pytest.FixtureRequest, browser: Browser, house: House
) -> Iterator[FeltPage]:
    yield from open_felt(browser, house, request.param, "phone")


READ_AREAS = """() => [...document.querySelectorAll("[data-testid=felt] [data-area]")]
.map((area) => {
  const {x, y, width, height} = area.querySelector(".hit").getBoundingClientRect();
  return {id: area.dataset.area, box: area.dataset.box, x, y, width, height};
})"""


def overlapping(areas: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [
        (one["id"], other["id"])
        for i, one in enumerate(areas)
        for other in areas[:i]
        if one["x"] + HALF_A_PIXEL < other["x"] + other["width"]
        and other["x"] + HALF_A_PIXEL < one["x"] + one["width"]
        and one["y"] + HALF_A_PIXEL < other["y"] + other["height"]
        and other["y"] + HALF_A_PIXEL < one["y"] + one["height"]
    ]


def test_every_area_of_every_box_is_drawn_and_no_two_overlap(desk_felt: FeltPage) -> None:
    areas = desk_felt.page.evaluate(READ_AREAS)
    assert {each["id"]: each["box"] for each in areas} == {
        a.id: a.box for a in desk_felt.felt.areas
    }
    assert {each["box"] for each in areas} == set(desk_felt.game.boxes)
    assert all(min(each["width"], each["height"]) > 0 for each in areas)
    assert not overlapping(areas)


FIND_OUTSIDE = """() => {
  const found = [];
  const look = (words, within, name) => {
    const r = within.getBoundingClientRect();
    const boxes = [...words].map((word) => [word.textContent, word.getBoundingClientRect()]);
    for (const [text, b] of boxes)
      if (b.left < r.left || b.right > r.right || b.top < r.top - 1 || b.bottom > r.bottom + 1)
        found.push(`${name}: ${text} leaves its area`);
    return boxes;
  };
  for (const area of document.querySelectorAll("[data-testid=felt] [data-drawn]")) {
    const ground = area.querySelector(".ground");
    look(area.querySelectorAll("text"), ground, area.dataset.drawn);
    look(area.querySelectorAll(".die-face"), ground, area.dataset.drawn);
  }
  for (const legend of document.querySelectorAll("[data-testid=felt] .inscription"))
    look(legend.querySelectorAll("text"), legend.querySelector(".border"), "legend");
  return found;
}"""
FIND_OVERLAPS = """() => {
  const found = [];
  for (const area of document.querySelectorAll("[data-testid=felt] [data-drawn]")) {
    const parts = [...area.querySelectorAll("text, .die-face")].map((each) => {
      const {left, right, top, bottom, height} = each.getBoundingClientRect();
      const spare = each.matches("text") ? height * 0.17 : 0;
      const text = each.textContent || "die";
      return {text, left, right, top: top + spare, bottom: bottom - spare};
    });
    parts.forEach((one, i) => parts.slice(0, i).forEach((other) => {
      if (one.left < other.right && other.left < one.right)
        if (one.top < other.bottom && other.top < one.bottom)
          found.push(`${area.dataset.drawn}: ${other.text} / ${one.text}`);
    }));
  }
  return found;
}"""


def test_labels_and_dice_stay_inside_their_area_and_do_not_overlap(desk_felt: FeltPage) -> None:
    assert desk_felt.page.evaluate(FIND_OUTSIDE) == []
    assert desk_felt.page.evaluate(FIND_OVERLAPS) == []


WALK_BY_ARROWS = """() => {
  const areas = [...document.querySelectorAll("[data-testid=felt] [data-area]")];
  const name = () => document.activeElement.dataset.area;
  const entry = areas.filter((area) => area.tabIndex === 0).map((area) => area.dataset.area);
  const seen = new Set(entry), waiting = [...entry];
  while (waiting.length) {
    const at = waiting.pop();
    for (const key of ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"]) {
      areas.find((area) => area.dataset.area === at).focus();
      document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
      if (!seen.has(name())) { seen.add(name()); waiting.push(name()); }
    }
  }
  document.activeElement.blur();
  return [entry, [...seen]];
}"""


def test_arrow_keys_reach_every_area(desk_felt: FeltPage) -> None:
    entry, reached = desk_felt.page.evaluate(WALK_BY_ARROWS)
    assert len(entry) == 1
    assert set(reached) == {area.id for area in desk_felt.felt.areas}


READ_LAMPS = """async (rolls) => {
  const dice = [0, 1, 2].map((die) => [...document.querySelectorAll(`input[name=die-${die}]`)]);
  const found = [];
  for (const roll of rolls) {
    roll.forEach((face, die) => dice[die][face - 1].checked || dice[die][face - 1].click());
    for (let turn = 0; turn < 10; turn++) await null;
    const areas = [...document.querySelectorAll("[data-testid=felt] [data-drawn]")];
    const shines = (area) => area.querySelector(".lamp") && area.querySelector(".glow");
    const lamps = areas.filter(shines);
    found.push(lamps.map((area) => area.dataset.drawn).sort());
    const marked = [...document.querySelectorAll("[data-testid=felt] [data-lit]")];
    const names = marked.map((area) => area.dataset.area).sort();
    if (String(names) !== String(found.at(-1))) throw new Error(`${roll}: lamps and marks differ`);
  }
  return found;
}"""


def test_exactly_the_areas_of_the_winning_boxes_are_lit_on_all_216_rolls(
    desk_felt: FeltPage,
) -> None:
    shown = desk_felt.page.evaluate(READ_LAMPS, [list(roll) for roll in ROLLS])
    for roll, lit in zip(ROLLS, shown, strict=True):
        won = set(desk_felt.game.winning(roll))
        assert lit == sorted(area.id for area in desk_felt.felt.areas if area.box in won), roll


FIND_COVERED_AREAS = """() => [...document.querySelectorAll("[data-testid=felt] .area")]
.filter((area) => {
  area.scrollIntoView({block: "center", inline: "center"});
  const {x, y, width, height} = area.querySelector(".hit").getBoundingClientRect();
  const there = document.elementFromPoint(x + width / 2, y + height / 2);
  return there?.closest("[data-area]") !== area;
}).map((area) => area.dataset.area)"""


def test_every_area_is_large_enough_to_touch_on_a_360_pixel_phone(phone_felt: FeltPage) -> None:
    for each in phone_felt.page.evaluate(READ_AREAS):
        least = 44 if each["box"].split(":")[0] in MAIN else 24
        assert min(each["width"], each["height"]) >= least, each
    assert phone_felt.page.evaluate(FIND_COVERED_AREAS) == []
    assert not is_wider_than_screen(phone_felt.page)


# --- keys, mouse and touch ------------------------------------------------------------------------


def test_chip_is_placed_and_taken_back_by_keyboard(house: House, new_user: NewUser) -> None:
    page = new_user(house).sign_in("player", "/odds/sg-rws-tai-sai-v6/e")
    felt = page.get_by_test_id("felt")
    page.get_by_role("radio", name="1", exact=True).first.focus()
    page.keyboard.press("Tab")
    expect(felt.locator("[data-area='big@left']")).to_be_focused()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    small = felt.locator("[data-area='small@left']")
    placed = felt.locator("[data-pile=placed][data-at='small@left']")
    expect(placed).to_have_attribute("data-amount", "100")
    expect(small).to_be_focused()
    expect(small).to_have_attribute("aria-label", "Small (left), pays 1 to 1, your chips 1.00")
    page.keyboard.press("Space")
    expect(placed).to_have_attribute("data-amount", "200")
    page.keyboard.press("Delete")
    expect(placed).to_have_count(0)
    page.keyboard.press("Tab")
    expect(felt.locator(":focus")).to_have_count(0)


def test_right_click_takes_a_chip_back(house: House, new_user: NewUser) -> None:
    page = new_user(house).sign_in("player", "/odds/sg-rws-tai-sai-v6/a")
    big = page.locator("[data-area=big]")
    big.click()
    expect(page.locator("[data-pile][data-at=big]")).to_have_count(1)
    big.click(button="right")
    expect(page.locator("[data-pile][data-at=big]")).to_have_count(0)


def test_tap_on_the_zoomed_out_felt_zooms_in_without_betting(
    house: House, new_user: NewUser
) -> None:
    page = new_user(house, "phone").sign_in("player", "/odds/sg-rws-tai-sai-v6/c")
    page.get_by_role("button", name="Whole felt").tap()
    pair = page.locator("[data-area='pair:5-5-1']")
    before = box_of(pair.locator(".hit"))
    assert before["width"] < 24
    pair.tap()
    expect(page.get_by_test_id("felt-map")).to_be_visible()
    expect(page.locator("[data-pile]")).to_have_count(0)
    after = box_of(pair.locator(".hit"))
    assert after["height"] >= 24
    pair.tap()
    expect(page.locator("[data-pile=placed][data-at='pair:5-5-1']")).to_have_count(1)


def test_tap_on_the_overview_map_scrolls_the_felt(house: House, new_user: NewUser) -> None:
    page = new_user(house, "phone").sign_in("player", "/odds/sg-rws-tai-sai-v6/e")
    right = page.locator("[data-area='big@right']")
    expect(right).not_to_be_in_viewport()
    small = page.get_by_test_id("felt-map")
    size = box_of(small)
    small.tap(position={"x": size["width"] - 8, "y": 10})
    expect(right).to_be_in_viewport()
