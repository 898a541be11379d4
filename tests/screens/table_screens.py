"""The pages of a dealer, a supervisor and a player at one table, compared with the API."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from playwright.sync_api import TimeoutError as PlaywrightTimeoutError
from playwright.sync_api import expect

from tests.screens.browser import format_amount
from tests.screens.house import steps_done

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

    from tests.screens.house import House

READ_PAGE = """() => {
  const text = (at, test) => at.querySelector(`[data-testid=${test}]`)?.innerText.trim() ?? "";
  const seats = {};
  for (const seat of document.querySelectorAll("[data-player]")) {
    const bets = {};
    for (const bet of seat.querySelectorAll("[data-spot]"))
      bets[bet.dataset.spot] = bet.querySelector(".number").innerText.trim();
    seats[seat.dataset.player] = [text(seat, "stack"), text(seat, "at-risk"), bets];
  }
  const steps = [...document.querySelectorAll("[data-standing=done]")];
  const done = steps.map((each) => each.dataset.step);
  return { seats, done, float: text(document, "float"), drop: text(document, "drop") };
}"""
PAGE_EQUALS = (
    """(expected) => {
  const sorted = (thing) => thing && typeof thing === "object" && !Array.isArray(thing)
    ? Object.fromEntries(Object.keys(thing).sort().map((key) => [key, sorted(thing[key])]))
    : Array.isArray(thing) ? thing.map(sorted) : thing;
  return JSON.stringify(sorted((READ_PAGE)())) === JSON.stringify(sorted(expected));
}"""
).replace("READ_PAGE", READ_PAGE)


def wait_for_step(page: Page, step: str) -> None:
    """Wait until a dealer's page shows a step as done."""
    expect(page.locator(f"[data-step={step}]")).to_have_attribute("data-standing", "done")


def press_next(page: Page) -> None:
    """Press the key of the next step once a dealer's page can take it."""
    expect(page.get_by_test_id("next")).to_be_enabled()
    page.keyboard.press("n")


@dataclass
class TableScreens:
    """The pages of a dealer, a supervisor and a player, and the same table over the API."""

    house: House
    table: str
    dealer: Page
    supervisor: Page
    player: Page

    def view(self) -> Any:
        return self.house.get(f"/api/tables/{self.table}")

    def game(self) -> Any:
        return self.house.get(f"/api/tables/{self.table}/game")

    def sheet(self) -> Any:
        return self.house.get(f"/api/tables/{self.table}/sheet")

    def assert_in_sync(self, *pages: Page) -> Any:
        """Assert that pages show the seats, steps and amounts of the API, and return its view."""
        view = self.view()
        expected = {
            "seats": {
                player: [
                    format_amount(seat["stack"]),
                    format_amount(seat["at_risk"]),
                    {spot: format_amount(amount) for spot, amount in seat["bets"].items()},
                ]
                for player, seat in view["seats"].items()
            },
            "done": steps_done(view, self.game()["conduct"]["procedure"]),
            "float": f"Float {_without_cents(view['float_amount'])}",
            "drop": f"Drop {_without_cents(view['drop'])}",
        }
        for page in pages or (self.dealer, self.supervisor):
            try:
                page.wait_for_function(PAGE_EQUALS, arg=expected)
            except PlaywrightTimeoutError:
                assert page.evaluate(READ_PAGE) == expected
                raise
        return view

    def next_step(self) -> str:
        """Return the next step on the dealer's page."""
        name = self.dealer.locator("[data-standing=next]").get_attribute("data-step")
        assert name
        return name

    def press_keys(self, keys: str) -> None:
        """Press keys on the dealer's keyboard, each after the page echoes the one before."""
        echo = self.dealer.get_by_test_id("echo")
        for i, key in enumerate(keys, 1):
            self.dealer.keyboard.press(key)
            expect(echo).to_have_attribute("data-echo", keys[:i])

    def take_step(self, step: str) -> None:
        """Take a step that needs one key."""
        press_next(self.dealer)
        wait_for_step(self.dealer, step)
        self.assert_in_sync(self.dealer)

    def place_chips(self, box: str, times: int = 1) -> None:
        """Place chips on the player's page, each after the dealer's page shows the one before."""
        before = self._staked(box)
        area = self.player.locator(f'[data-box="{box}"]').first
        for i in range(times):
            area.press("Enter")
            expect(self.dealer.locator(f'[data-player] [data-spot="{box}"]')).to_have_attribute(
                "data-amount", str(before + (i + 1) * 100)
            )

    def _staked(self, box: str) -> int:
        seats = self.view()["seats"]
        return int(seats[self.house.account_id("player")]["bets"].get(box, 0))

    def open_report(self, page: Page, irregularity: str) -> Locator:
        """Open the dialog that reports an irregularity and states its consequence."""
        page.locator(f"[data-irregularity={irregularity}]").click()
        dialog = page.get_by_role("dialog")
        expect(dialog.get_by_test_id("consequence")).to_contain_text("What follows")
        return dialog

    def approve(self, page: Page, words: str) -> None:
        """Approve the pending request that contains the given words."""
        request = page.get_by_test_id("request").filter(has_text=words)
        request.get_by_role("button", name="Approve").click()
        expect(request.and_(page.locator("[data-state=pending]"))).to_have_count(0)


def _without_cents(amount: int) -> str:
    return format_amount(amount).removesuffix(".00")
