"""The felt stays where it is through every phase of a round, on every size of screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.screens.browser import box_of
from tests.screens.house import GAMES, House, house_toml, steps_done
from tests.screens.player_page import PlayerPage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page

    from tests.screens.browser import NewUser
    from tests.screens.house import Roll

SIZES = {
    (390, 844): "phone",
    (360, 640): "phone",
    (844, 390): "side",
    (768, 1024): "tablet",
    (1024, 768): "tablet",
    (1440, 900): "desk",
}
"""Screens by width and height, and the kind of device of each."""

WHOLE_FELT = [(1024, 768), (1180, 820), (1280, 800), (1440, 900)]
"""Tablets on their side and desks: the whole felt is in sight without scrolling."""

IN_MAKE_TEST = {"sg-a", "triple"}
"""A felt with many boxes, and one whose shooter has controls of their own."""

TABLES = GAMES | {"tapped": GAMES["sg-a"], "stopped": GAMES["nz-1"]}
LAYOUTS = [
    table if table in IN_MAKE_TEST else pytest.param(table, marks=pytest.mark.long)
    for table in GAMES
]
ROLL: Roll = (1, 4, 5)
BET = 1200
MOST_SHIFT = 0.02
MOST_MOVE_PX = 1

OBSERVE = """
window.shifts = [];
new PerformanceObserver((list) => {
  for (const { value, sources } of list.getEntries())
    window.shifts.push([value, sources.map(({ node }) => node?.className ?? node?.nodeName)]);
}).observe({ type: "layout-shift", buffered: true });
"""
"""Record every layout shift, those after input as well."""

READ_BOXES = """() => Object.fromEntries(
  [...document.querySelectorAll("[data-area]")].map((area) => {
    const { x, y, width, height } = area.querySelector(".hit").getBoundingClientRect();
    return [area.dataset.area, [x + scrollX, y + scrollY, width, height]];
  })
)"""

DICE_REST = """() =>
  document.querySelector("[data-reveal]").dataset.reveal !== "revealing" &&
  !document.querySelector("[data-flight]")"""

RECORD_UNDER_FINGER = """([x, y]) => {
  window.under = new Set();
  new MutationObserver(() => {
    const area = document.elementFromPoint(x, y)?.closest("[data-area]");
    window.under.add(area?.dataset.area ?? "");
  }).observe(document.body, {
    subtree: true, childList: true, attributes: true, characterData: true,
  });
}"""
"""Record the boxes that lie at a point whenever the page changes."""

FELT_IN_SIGHT = """() => {
  const rect = (test) => document.querySelector(test)?.getBoundingClientRect();
  const [felt, view, bar] = ["[data-testid=felt]", "[data-felt-view]", "[data-bar]"].map(rect);
  if (!felt) return false;
  const lowest = Math.min(innerHeight, bar?.top ?? innerHeight);
  return scrollY === 0 && felt.top >= 0 && felt.bottom <= lowest && felt.bottom <= view.bottom + 1
    && felt.left >= view.left - 1 && felt.right <= view.right + 1 && felt.right <= innerWidth;
}"""


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with House(tmp_path_factory.mktemp("stage"), house_toml(TABLES)) as house:
        yield house


class Screens:
    """Windows of one player at one table, one for each size of screen."""

    def __init__(self, house: House, table: str, new_user: NewUser) -> None:
        self.house, self.table = house, table
        house.pass_checks(table)
        self.player = house.buy_in(table)
        self.pages: dict[tuple[int, int], Page] = {}
        for size, kind in SIZES.items():
            user = new_user(house, kind)
            user.page.set_viewport_size({"width": size[0], "height": size[1]})
            user.context.add_init_script(OBSERVE)
            self.pages[size] = user.sign_in("player", f"/table/{table}")
        self.wait()
        self.at_rest = {size: page.evaluate(READ_BOXES) for size, page in self.pages.items()}

    def wait(self) -> None:
        """Wait until every window shows the table as it is, and the dice rest."""
        for page in self.pages.values():
            expect(page.get_by_test_id("version")).to_have_attribute("data-sure", "true")
        version = str(self.house.get(f"/api/tables/{self.table}")["version"])
        for page in self.pages.values():
            expect(page.get_by_test_id("version")).to_have_text(version)
            page.wait_for_function(DICE_REST)

    def assert_unmoved(self, phase: str) -> None:
        self.wait()
        for size, page in self.pages.items():
            boxes = page.evaluate(READ_BOXES)
            moved = {
                area: (before, boxes[area])
                for area, before in self.at_rest[size].items()
                if max(abs(a - b) for a, b in zip(before, boxes[area], strict=True)) > MOST_MOVE_PX
            }
            assert moved == {}, (phase, size)

    def forget_shifts(self) -> None:
        for page in self.pages.values():
            page.evaluate("() => { window.shifts = []; }")

    def shifts(self) -> dict[tuple[int, int], Any]:
        """Return the layout shifts of each window whose sum is too large."""
        found = {size: page.evaluate("() => window.shifts") for size, page in self.pages.items()}
        return {
            size: shifts
            for size, shifts in found.items()
            if sum(value for value, _ in shifts) > MOST_SHIFT
        }

    def play(self, boxes: list[str]) -> None:
        """Play a round with bets, placed from each window and over the API."""
        game = self.house.get(f"/api/tables/{self.table}/game")
        procedure = game["conduct"]["procedure"]
        left_out = steps_done(self.house.get(f"/api/tables/{self.table}"), procedure)
        for step in procedure["order"]:
            if step in left_out:
                continue
            self.house.take_step(self.table, step, ROLL)
            self.assert_unmoved(step)
            if step == "open-betting":
                self._bet(game, boxes)
                self.assert_unmoved("chips on the felt")

    def _bet(self, game: Any, boxes: list[str]) -> None:
        shooter = game["conduct"].get("shooter")
        seated = self.house.get(f"/api/tables/{self.table}")["shooter"]
        stakes = [(shooter["box"], 1000)] if shooter and not seated["stake"] else []
        for box, amount in [*stakes, *((box, BET) for box in boxes)]:
            bet = {"player": self.player, "box": box, "amount": amount}
            self.house.send("player", self.table, "PlaceBet", **bet)
        self.wait()
        for page in self.pages.values():
            page.locator("[data-area]").first.click()
            self.wait()


def boxes_by_fate(house: House, table: str) -> tuple[list[str], list[str]]:
    """Return boxes that win with the roll, and boxes that lose."""
    game = house.get(f"/api/tables/{table}/game")
    shooter = (game["conduct"].get("shooter") or {}).get("box")
    index = (ROLL[0] - 1) * 36 + (ROLL[1] - 1) * 6 + ROLL[2] - 1
    fates: dict[bool, list[str]] = {True: [], False: []}
    for box in game["boxes"]:
        if box["id"] != shooter:
            fates[wins(box, index)].append(box["id"])
    return fates[True], fates[False]


def wins(box: Any, index: int) -> bool:
    return any(line["rolls"][index] == "1" for line in box["lines"])


@pytest.mark.parametrize("table", LAYOUTS)
def test_no_box_moves_in_a_round_on_any_screen(house: House, new_user: NewUser, table: str) -> None:
    screens = Screens(house, table, new_user)
    winning, losing = boxes_by_fate(house, table)
    for boxes in (winning[:3] + losing[:1], losing[:3]):
        screens.forget_shifts()
        screens.play(boxes)
        assert screens.shifts() == {}


def test_no_box_moves_when_play_stops(house: House, new_user: NewUser) -> None:
    screens = Screens(house, "stopped", new_user)
    screens.forget_shifts()
    house.deal("stopped", ROLL, until="close-betting")
    screens.assert_unmoved("betting is open")
    house.send("dealer", "stopped", "Report", irregularity="tumbler-fault")
    screens.assert_unmoved("a void round, a locked table and their notices")
    assert screens.shifts() == {}


def test_tap_when_betting_opens_meets_the_box_that_lay_there(
    house: House, new_user: NewUser
) -> None:
    player = PlayerPage(house, "tapped", new_user, size="phone")
    page = player.page
    page.set_viewport_size({"width": 390, "height": 844})
    player.open_betting()
    player.place("double:6")
    player.finish_round()
    expect(page.get_by_test_id("net")).to_have_attribute("data-settled", "true")
    big = box_of(page.locator("[data-area=big] .hit"))
    finger = (big["x"] + big["width"] / 2, big["y"] + big["height"] / 2)
    page.evaluate(RECORD_UNDER_FINGER, finger)
    player.open_betting()
    page.touchscreen.tap(*finger)
    player.wait_until_settled()
    assert page.evaluate("() => [...window.under]") == ["big"]
    assert player.seat()["areas"] == {"big": 100}


def test_whole_felt_is_in_sight_on_tablets_on_their_side_and_desks(
    house: House, new_user: NewUser
) -> None:
    user = new_user(house)
    page = user.sign_in("player")
    for table in GAMES:
        page.goto(f"/table/{table}")
        for width, height in WHOLE_FELT:
            page.set_viewport_size({"width": width, "height": height})
            page.wait_for_function(FELT_IN_SIGHT)
        page.set_viewport_size({"width": 1024, "height": 768})
        for label in ("Undo", "Buy in"):
            bar = page.get_by_role("region", name="Stack, chip and time")
            expect(bar.get_by_role("button", name=label)).to_be_in_viewport(ratio=1)
