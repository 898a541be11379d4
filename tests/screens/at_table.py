"""People at one table: the dealer, a supervisor, a player, each at a screen of his own.

What a dealer's screen shows is compared with what the API says, as text and to the cent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from playwright.sync_api import TimeoutError as TooLate
from playwright.sync_api import expect

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

    from tests.screens.house import House

SHOWN = """() => {
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
SAME = (
    """(expected) => {
  const sorted = (thing) => thing && typeof thing === "object" && !Array.isArray(thing)
    ? Object.fromEntries(Object.keys(thing).sort().map((key) => [key, sorted(thing[key])]))
    : Array.isArray(thing) ? thing.map(sorted) : thing;
  return JSON.stringify(sorted((SHOWN)())) === JSON.stringify(sorted(expected));
}"""
).replace("SHOWN", SHOWN)


def money(amount: int) -> str:
    """Return an amount as an English screen shows it: 12345 is 123.45."""
    return f"{amount // 100:,}.{amount % 100:02}"


def short(amount: int) -> str:
    """Return an amount as it stands on signs: without cents where there are none."""
    return money(amount) if amount % 100 else f"{amount // 100:,}"


@dataclass
class AtTable:
    """A table with its dealer, his supervisor and a player, in the browser and over the API."""

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

    # --- what screens show ----------------------------------------------------------------------

    def agrees(self, *pages: Page) -> Any:
        """See that screens show what the API says; returns what that is."""
        view = self.view()
        expected = {
            "seats": {
                player: [
                    money(seat["stack"]),
                    money(seat["at_risk"]),
                    {spot: money(amount) for spot, amount in seat["bets"].items()},
                ]
                for player, seat in view["seats"].items()
            },
            "done": view["round"]["done"] if view["round"] else self._skipped(view),
            "float": f"Float {short(view['float_amount'])}",
            "drop": f"Drop {short(view['drop'])}",
        }
        for page in pages or (self.dealer, self.supervisor):
            try:
                page.wait_for_function(SAME, arg=expected)
            except TooLate:
                assert page.evaluate(SHOWN) == expected
                raise
        return view

    def _skipped(self, view: Any) -> list[str]:
        if not (view["shooter"] and view["shooter"]["stake"]):
            return []
        procedure = self.game()["conduct"]["procedure"]
        return [s for s in procedure["order"] if procedure["steps"][s].get("per") == "shooter"]

    def next_step(self) -> str:
        """Return the step that the dealer's screen asks for."""
        name = self.dealer.locator("[data-standing=next]").get_attribute("data-step")
        assert name
        return name

    # --- what people do -------------------------------------------------------------------------

    def press(self, keys: str) -> None:
        """Press keys of the dealer's keyboard, each once the one before is on the echo."""
        echo = self.dealer.get_by_test_id("echo")
        for i, key in enumerate(keys, 1):
            self.dealer.keyboard.press(key)
            expect(echo).to_have_attribute("data-echo", keys[:i])

    def take(self, step: str) -> None:
        """Take a step that is taken with one key."""
        expect(self.dealer.get_by_test_id("next")).to_be_enabled()
        self.dealer.keyboard.press("n")
        expect(self.dealer.locator(f"[data-step={step}]")).to_have_attribute(
            "data-standing", "done"
        )
        self.agrees(self.dealer)

    def bet(self, box: str, times: int = 1) -> None:
        """Have the player tap a box on his own felt until the house has the chips."""
        before = self._staked(box)
        area = self.player.locator(f'[data-box="{box}"]').first
        for i in range(times):
            area.press("Enter")
            expect(self.dealer.locator(f'[data-player] [data-spot="{box}"]')).to_have_attribute(
                "data-amount", str(before + (i + 1) * 100)
            )

    def _staked(self, box: str) -> int:
        seats = self.view()["seats"]
        return int(seats[self.house.id("player")]["bets"].get(box, 0))

    def report(self, page: Page, irregularity: str) -> Locator:
        """The first of two taps: returns the dialog, which says what follows."""
        page.locator(f"[data-irregularity={irregularity}]").click()
        dialog = page.get_by_role("dialog")
        expect(dialog.get_by_test_id("consequence")).to_contain_text("What follows")
        return dialog

    def approve(self, page: Page, words: str) -> None:
        """Have somebody else agree to what waits at his screen."""
        request = page.get_by_test_id("request").filter(has_text=words)
        request.get_by_role("button", name="Approve").click()
        expect(request.and_(page.locator("[data-state=pending]"))).to_have_count(0)
