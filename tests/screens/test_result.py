"""The moment of the result on the player's page: dice, lights, net, chips and sounds."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.screens.browser import box_of, wait_until_loaded
from tests.screens.house import House, house_toml, table_toml
from tests.screens.network import HeldRequests
from tests.screens.player_page import PlayerPage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page

    from tests.screens.browser import NewUser

GAME = "sg-rws-tai-sai-v6/a"
TABLES = dict.fromkeys(["desk", "phone", "still", "chips", "sounds", "touched", "listed"], GAME)
FULL = {"full": "sg-rws-tai-sai-v6/e"}
MOST_AREAS_PER_FRAME = 4
LEAST_DIE = 96
RECORD = """() => {
  window.seen = [];
  new MutationObserver(() => {
    const phase = document.querySelector("[data-reveal]").dataset.reveal;
    const dice = document.querySelectorAll("[data-die]").length;
    const follows = !!document.querySelector("[data-lit], [data-testid=net]");
    const chips = [...document.querySelectorAll("[data-flight]")];
    const flights = [...new Set(chips.map((each) => each.dataset.flight))];
    const now = JSON.stringify({ phase, dice, follows, flights });
    if (window.seen.at(-1) !== now) window.seen.push(now);
  }).observe(document.body, { subtree: true, childList: true, attributes: true });
}"""
"""Record each state of the dice, whether lights or the net are shown, and the chips that travel."""

RECORD_FELT = """() => {
  window.touched = new Set();
  new MutationObserver((changes) => {
    for (const { target } of changes) {
      const area = target.closest?.("[data-area], [data-drawn]");
      window.touched.add(area ? (area.dataset.area ?? area.dataset.drawn) : target.nodeName);
    }
  }).observe(document.querySelector("[data-testid=felt]"), {
    subtree: true, childList: true, attributes: true, characterData: true,
  });
}"""
"""Record the areas of the felt whose elements change."""

RECORD_FRAMES = """() => {
  window.frames_ = [];
  let now = new Set();
  new MutationObserver((changes) => {
    for (const { target } of changes) {
      const area = target.closest?.("[data-area], [data-drawn]");
      if (area) now.add(area.dataset.area ?? area.dataset.drawn);
    }
  }).observe(document.querySelector("[data-testid=felt]"), {
    subtree: true, childList: true, attributes: true, characterData: true,
  });
  requestAnimationFrame(function next() {
    if (now.size) window.frames_.push([...now]);
    now = new Set();
    requestAnimationFrame(next);
  });
}"""
"""Record the areas of the felt that change between one frame and the next."""

COUNT_SOUNDS = """() => {
  window.sounds = 0;
  for (const maker of ["createOscillator", "createBufferSource"]) {
    const make = AudioContext.prototype[maker];
    AudioContext.prototype[maker] = function () {
      window.sounds += 1;
      return make.call(this);
    };
  }
}"""


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """Run a house with a table for each test, one of which records bets over its limits."""
    toml = house_toml(TABLES | FULL, "refuse") + table_toml("shared", GAME, "record")
    with House(tmp_path_factory.mktemp("results"), toml) as house:
        yield house


def recorded(page: Page) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = page.evaluate("window.seen.map((each) => JSON.parse(each))")
    return found


def bet_and_close(player: PlayerPage) -> None:
    player.open_betting()
    player.place("small", "big", "domino:1-4")
    player.deal("close-betting", "tumble", "uncover")
    expect(player.page.get_by_test_id("tumbler")).to_have_attribute("data-reveal", "lifting")
    player.page.evaluate(RECORD)


@pytest.mark.parametrize("size", ["desk", "phone"])
def test_dice_land_one_by_one_before_the_boxes_light_and_the_net_appears(
    house: House, new_user: NewUser, size: str
) -> None:
    player = PlayerPage(house, size, new_user, size=size)
    page, net = player.page, player.page.get_by_test_id("net")
    bet_and_close(player)
    player.deal("call-result")
    expect(net).to_have_text(re.compile(r"Your round\s+\+6\.00\s+expected"))
    expect(net).to_have_attribute("data-settled", "false")
    expect(player.box("small")).to_have_attribute("aria-label", re.compile(r"\bwins\b"))
    landing = [each for each in recorded(page) if each["phase"] == "revealing"]
    assert list(dict.fromkeys(each["dice"] for each in landing)) == [0, 1, 2, 3]
    assert not any(each["follows"] for each in landing)
    for die in range(3):
        box = box_of(page.locator("[data-die]").nth(die))
        assert min(box["width"], box["height"]) >= LEAST_DIE
    player.finish_round()
    expect(net).to_have_attribute("data-settled", "true")
    expect(net).to_have_text(re.compile(r"Your round\s+\+6\.00\s*$"))


def test_result_touches_only_the_areas_that_it_lights(house: House, new_user: NewUser) -> None:
    player = PlayerPage(house, "touched", new_user)
    player.page.emulate_media(reduced_motion="reduce")
    bet_and_close(player)
    player.page.evaluate(RECORD_FELT)
    player.deal("call-result", "enter-result", "illuminate")
    player.assert_in_sync()
    lit = house.get("/api/tables/touched/sheet", "dealer")["lit"]
    expect(player.page.locator("[data-lit]")).to_have_count(len(lit))
    wait_until_loaded(player.page)
    assert "small" in lit
    assert set(player.page.evaluate("[...window.touched]")) == set(lit)


def test_full_felt_is_cleared_a_few_areas_in_each_frame(house: House, new_user: NewUser) -> None:
    player = PlayerPage(house, "full", new_user)
    other = house.buy_in("full", "player2", amount=1_000_000)
    player.open_betting()
    areas = {area["id"] for area in house.get("/api/tables/full/game")["felt"]["areas"]}
    boxes = house.get("/api/tables/full/game")["boxes"]
    for box in boxes:
        house.send("player2", "full", "PlaceBet", player=other, box=box["id"], amount=1200)
    expect(player.page.locator("[data-pile]")).to_have_count(len(boxes))
    player.deal("close-betting", "tumble", "uncover", "call-result", "enter-result", "illuminate")
    player.assert_in_sync()
    player.page.evaluate(RECORD_FRAMES)
    player.finish_round()
    expect(player.page.locator("[data-pile]")).to_have_count(0)
    frames = player.page.evaluate("window.frames_")
    assert max(map(len, frames)) <= MOST_AREAS_PER_FRAME
    assert {area for frame in frames for area in frame} <= areas
    assert sum(map(len, frames)) <= 2 * len(boxes)


def test_result_is_shown_at_once_to_a_player_who_wants_less_motion(
    house: House, new_user: NewUser
) -> None:
    player = PlayerPage(house, "still", new_user)
    player.page.emulate_media(reduced_motion="reduce")
    bet_and_close(player)
    player.finish_round()
    expect(player.page.get_by_test_id("net")).to_have_attribute("data-settled", "true")
    player.assert_in_sync()
    states = recorded(player.page)
    assert "revealing" not in {each["phase"] for each in states}
    assert not any(each["flights"] for each in states)


def test_chips_travel_from_losing_boxes_and_to_winning_boxes(
    house: House, new_user: NewUser
) -> None:
    player = PlayerPage(house, "chips", new_user)
    flights = player.page.locator("[data-flight]")
    bet_and_close(player)
    player.finish_round()
    expect(player.page.get_by_test_id("net")).to_have_attribute("data-settled", "true")
    player.assert_in_sync()
    player.page.wait_for_function(
        "['taken', 'paid'].every((way) => window.seen.some((each) => each.includes(way)))"
    )
    expect(flights).to_have_count(0)


def test_result_stays_listed_while_the_past_rounds_are_loaded(
    house: House, new_user: NewUser
) -> None:
    player = PlayerPage(house, "listed", new_user)
    totals = player.page.get_by_test_id("last-totals").get_by_role("listitem")
    bet_and_close(player)
    player.deal("call-result")
    expect(totals).to_have_count(1)
    loading = HeldRequests(player.page, "**/results?*")
    player.finish_round()
    expect(player.page.get_by_test_id("net")).to_have_attribute("data-settled", "true")
    loading.wait()
    expect(totals).to_have_count(1)
    loading.release()
    expect(player.page.get_by_test_id("net-1")).to_be_attached()
    expect(totals).to_have_count(1)


def test_net_of_apportioned_bets_waits_for_the_server(house: House, new_user: NewUser) -> None:
    player = PlayerPage(house, "shared", new_user)
    other = house.buy_in("shared", "player2", amount=1_000_000)
    player.open_betting()
    player.place("small")
    bet = {"player": other, "box": "small", "amount": 200_000}
    house.send("player2", "shared", "PlaceBet", **bet)
    player.deal("close-betting", "tumble", "uncover", "call-result")
    expect(player.page.get_by_test_id("shared")).to_contain_text("your net follows")
    expect(player.page.get_by_test_id("net")).to_have_count(0)
    player.finish_round()
    expect(player.page.get_by_test_id("net")).to_have_attribute("data-settled", "true")
    expect(player.page.get_by_test_id("shared")).to_have_count(0)


def test_sounds_are_off_until_switched_on_and_the_switch_is_remembered(
    house: House, new_user: NewUser
) -> None:
    player = PlayerPage(house, "sounds", new_user)
    page = player.page
    switch = page.get_by_test_id("sound").locator("visible=true")
    expect(switch).to_have_attribute("aria-pressed", "false")
    page.evaluate(COUNT_SOUNDS)
    bet_and_close(player)
    player.finish_round()
    expect(page.get_by_test_id("net")).to_be_visible()
    assert page.evaluate("window.sounds") == 0
    switch.click()
    page.reload()
    expect(switch).to_have_attribute("aria-pressed", "true")
    page.evaluate(COUNT_SOUNDS)
    bet_and_close(player)
    before = page.evaluate("window.sounds")
    player.finish_round()
    expect(page.get_by_test_id("net")).to_be_visible()
    assert before > 0
    page.wait_for_function("(before) => window.sounds > before", arg=before)
    page.goto("/board/sounds")
    expect(switch).to_have_attribute("aria-pressed", "false")
