"""The table on a phone, on a phone on its side, and on a desk: what is in view, and how large."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.screens.browser import is_wider_than_screen, wait_until_loaded
from tests.screens.house import GAMES, House, house_toml
from tests.screens.player_page import PlayerPage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page

    from tests.screens.browser import NewUser

TABLES = GAMES | {"few": "sg-rws-tai-sai-v6/a"}
CHIPS = [100, 500, 2500, 10_000, 50_000, 100_000, 500_000]
SEVEN_DIGITS = 100_000_000
SIZES = ("phone", "side", "tablet", "desk")
MAIN = {"big", "small", "odd", "even", "single", "any-triple", "red", "black", "shooter"}
LEAST_PART = 0.7
LEAST_PX, LEAST_MAIN_PX = 24, 44

READ_SCREEN = """() => {
  const rect = (each) => each.getBoundingClientRect();
  const felt = rect(document.querySelector("[data-testid=felt]"));
  const view = rect(document.querySelector("[data-felt-view]"));
  const bar = document.querySelector("[role=region][aria-label='Stack, chip and time']");
  const header = document.querySelector("header");
  const top = Math.max(view.top, rect(header).bottom, 0);
  const bottom = Math.min(view.bottom, felt.bottom, bar ? rect(bar).top : innerHeight, innerHeight);
  const width = Math.min(felt.right, view.right, innerWidth) - Math.max(felt.left, view.left, 0);
  const targets = [...document.querySelectorAll("[data-area]")].map((area) => {
    const {width, height} = rect(area.querySelector(".hit"));
    return [area.dataset.box.split(":")[0], Math.min(width, height)];
  });
  const chips = [...document.querySelectorAll("[role=radio]")].filter((each) => rect(each).width);
  const hidden = chips.filter((chip) => {
    const {x, y, width, height} = rect(chip);
    return !chip.contains(document.elementFromPoint(x + width / 2, y + height / 2));
  });
  const covered = [];
  for (const area of document.querySelectorAll("[data-drawn]")) {
    const piles = [...area.querySelectorAll("[data-pile]")].map(rect);
    for (const part of area.querySelectorAll("text, .die-face")) {
      if (part.closest("[data-pile]")) continue;
      const {left, right, top, bottom, height} = rect(part);
      const spare = part.matches("text") ? height * 0.17 : 0;
      if (piles.some((pile) => left < pile.right - 1 && pile.left + 1 < right
          && top + spare < pile.bottom - 1 && pile.top + 1 < bottom - spare))
        covered.push(`${area.dataset.drawn}: ${part.textContent}`);
    }
  }
  return {
    shown: Math.max(0, width) * Math.max(0, bottom - top) / (felt.width * felt.height),
    targets, covered, piles: document.querySelectorAll("[data-pile]").length,
    chips: chips.length, hidden: hidden.map((each) => each.ariaLabel),
  };
}"""


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    toml = house_toml(TABLES, "refuse").replace("[100, 500, 2500, 10000]", str(CHIPS))
    with House(tmp_path_factory.mktemp("screens"), toml) as house:
        yield house


def read_screen(page: Page) -> Any:
    wait_until_loaded(page)
    return page.evaluate(READ_SCREEN)


def test_table_fits_every_screen_with_a_seven_digit_stack_and_chips_on_every_box(
    house: House, new_user: NewUser
) -> None:
    other = house.buy_in("few", "player2")
    player = PlayerPage(house, "few", new_user, amount=SEVEN_DIGITS)
    windows = {"desk": player.page} | {
        size: new_user(house, size).sign_in("player", "/table/few") for size in ("phone", "side")
    }
    player.open_betting()
    boxes = house.get("/api/tables/few/game")["boxes"]
    for box in boxes:
        for user, account in (("player", player.account), ("player2", other)):
            bet = {"player": account, "box": box["id"], "amount": 1200}
            house.send(user, "few", "PlaceBet", **bet)
    version = str(player.view()["version"])
    for size, page in windows.items():
        expect(page.get_by_test_id("version")).to_have_text(version)
        expect(page.locator("[data-pile]")).to_have_count(2 * len(boxes))
        screen = read_screen(page)
        assert screen["covered"] == [], size
        assert screen["hidden"] == [], size
        assert screen["chips"] == len(CHIPS)
        assert size == "phone" or screen["shown"] >= LEAST_PART, size
        assert too_small(screen) == [], size
    player.deal("close-betting", "tumble", "uncover", "call-result")
    on_its_side = windows["side"]
    expect(on_its_side.get_by_test_id("net")).to_be_in_viewport(ratio=1)
    expect(on_its_side.locator("[data-die]").last).to_be_in_viewport(ratio=1)
    assert read_screen(on_its_side)["shown"] >= LEAST_PART


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("table", GAMES)
def test_every_box_can_be_tapped_on_every_screen(
    house: House, new_user: NewUser, table: str, size: str
) -> None:
    page = new_user(house, size).sign_in("player", f"/table/{table}")
    expect(page.get_by_test_id("felt")).to_be_visible()
    if size != "desk":
        expect(page.get_by_role("region", name="Stack, chip and time")).to_be_visible()
    screen = read_screen(page)
    assert too_small(screen) == []
    assert size in ("phone", "tablet") or screen["shown"] >= LEAST_PART
    assert not is_wider_than_screen(page)


def too_small(screen: Any) -> list[Any]:
    """Return the boxes that are too small to be tapped, main bets by their larger size."""
    return [
        (box, least)
        for box, least in screen["targets"]
        if least < (LEAST_MAIN_PX if box in MAIN else LEAST_PX)
    ]
