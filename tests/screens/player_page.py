"""The player's page as a test uses it: boxes, chips, buttons, and whether its numbers are true."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from playwright.sync_api import expect

from tests.screens.browser import Hold

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Locator, Page

    from tests.screens.browser import Person
    from tests.screens.house import House

DICE = (1, 4, 5)
DEALT: dict[str, dict[str, Any]] = {"tumble": {"times": 3}, "call-result": {"dice": DICE}}
COMMANDS = {
    "open-betting": "OpenBetting",
    "close-betting": "CloseBetting",
    "tumble": "Tumble",
    "uncover": "Uncover",
    "call-result": "CallResult",
    "illuminate": "Illuminate",
    "collect-losers": "CollectLosers",
    "pay-winners": "PayWinners",
}


def shown(amount: int) -> str:
    """Return an amount as the English screen writes it."""
    return f"{amount / 100:,.2f}"


class PlayerPage:
    """A player before his table, which is his alone in a test."""

    def __init__(
        self,
        house: House,
        table: str,
        person: Callable[..., Person],
        *,
        size: str = "desk",
        amount: int = 1_000_000,
    ) -> None:
        self.house, self.table = house, table
        house.open_table(table)
        self.player = house.seat(table, amount=amount) if amount else house.id("player")
        self.someone = person(house, size)
        self.page: Page = self.someone.sign_in("player", f"/table/{table}")
        expect(self.page.get_by_test_id("phase")).to_be_visible()

    # --- what is on the page ------------------------------------------------------------------

    def box(self, area: str) -> Locator:
        return self.page.locator(f'[role="button"][id$="-{area}"]')

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name, exact=True)

    def act(self, name: str) -> Locator:
        """Return one of the buttons for all bets at once."""
        acts = self.page.get_by_role("toolbar", name="All your bets")
        return acts.get_by_role("button", name=name, exact=True)

    def chip(self, amount: int) -> Locator:
        return self.page.get_by_role("radio", name=f"Chip of {amount}", exact=True).locator(
            "visible=true"
        )

    @property
    def refusal(self) -> Locator:
        return self.page.get_by_test_id("refusal")

    def put(self, *areas: str) -> None:
        """Tap boxes with the chip in hand, and wait until the house has them all."""
        for area in areas:
            self.box(area).click()
        self.settle()

    def settle(self) -> None:
        """Wait until nothing is on its way."""
        expect(self.page.get_by_test_id("version")).to_have_attribute("data-sure", "true")

    def hold(self) -> Hold:
        """Keep commands from the house until they are let go."""
        return Hold(self.page, "**/commands")

    # --- what the house says ------------------------------------------------------------------

    def view(self) -> Any:
        return self.house.get(f"/api/tables/{self.table}", "player")

    def seat(self) -> Any:
        return self.view()["seats"][self.player]

    def lies(self, **areas: int) -> None:
        """See that exactly these chips lie on the felt, on the screen and at the house."""
        for area, amount in areas.items():
            expect(self.box(area)).to_have_attribute("aria-label", chips_of(amount))
        self.is_true()
        assert self.seat()["areas"] == {area: amount for area, amount in areas.items() if amount}

    def is_true(self) -> None:
        """See that the numbers of the screen are the house's, to the cent."""
        self.settle()
        expect(self.page.get_by_test_id("version")).to_have_text(str(self.view()["version"]))
        seat = self.seat()
        expect(self.page.get_by_test_id("stack")).to_have_text(shown(seat["stack"]))
        expect(self.page.get_by_test_id("staked")).to_have_text(shown(seat["at_risk"]))
        room = self.house.get(f"/api/tables/{self.table}/room", "player")
        for spot, at in room["spots"].items():
            if at["room"] < at["maximum"]:
                left = shown(at["room"]).removesuffix(".00")
                expect(self.page.get_by_test_id(f"room-{spot}")).to_have_text(left)

    # --- what the dealer does -----------------------------------------------------------------

    def open(self) -> None:
        self.deal("open-betting")
        expect(self.page.get_by_test_id("phase")).to_contain_text(
            re.compile("place your bets", re.I)
        )

    def deal(self, *steps: str) -> None:
        for step in steps:
            if step == "enter-result":
                for key in DICE:
                    self.house.send("dealer", self.table, "PressKey", key=key)
                self.house.send("dealer", self.table, "PressEnter")
            else:
                fields = DEALT.get(step, {})
                self.house.send("dealer", self.table, COMMANDS[step], **fields)

    def finish(self) -> None:
        """Deal what is left of the round, in the order of the rulebook."""
        order = self.house.get(f"/api/tables/{self.table}/game")["conduct"]["procedure"]["order"]
        done = self.view()["round"]["done"]
        self.deal(*(step for step in order if step not in done))


def chips_of(amount: int) -> re.Pattern[str]:
    """Return what the name of a box says of one's own chips on it."""
    if amount:
        return re.compile(f"your chips {re.escape(shown(amount))}(,|$)")
    return re.compile("^(?!.*your chips)")
