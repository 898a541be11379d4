"""The player's page of a table: boxes, chips and buttons, compared with the API."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from playwright.sync_api import expect

from tests.screens.browser import format_amount
from tests.screens.network import HeldRequests

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

    from tests.screens.browser import NewUser
    from tests.screens.house import House

DICE = (1, 4, 5)


class PlayerPage:
    """The page of a player at a table that no other test uses."""

    def __init__(
        self,
        house: House,
        table: str,
        new_user: NewUser,
        *,
        size: str = "desk",
        amount: int = 1_000_000,
        lang: str = "en",
    ) -> None:
        self.house, self.table = house, table
        house.pass_checks(table)
        self.account = house.buy_in(table, amount=amount) if amount else house.account_id("player")
        self.user = new_user(house, size, lang)
        self.page: Page = self.user.sign_in("player", f"/table/{table}")
        expect(self.page.get_by_test_id("phase")).to_be_visible()

    def box(self, area: str) -> Locator:
        return self.page.locator(f'[role="button"][id$="-{area}"]')

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name, exact=True)

    def toolbar_button(self, name: str) -> Locator:
        """Return a button that applies to all bets."""
        toolbar = self.page.get_by_role("toolbar", name="All your bets")
        return toolbar.get_by_role("button", name=name, exact=True)

    def chip(self, amount: int) -> Locator:
        return self.page.get_by_role("radio", name=f"Chip of {amount}", exact=True).locator(
            "visible=true"
        )

    @property
    def refusal(self) -> Locator:
        return self.page.get_by_test_id("refusal")

    def place(self, *areas: str) -> None:
        """Tap areas with the selected chip, and wait until the server has accepted every bet."""
        for area in areas:
            self.box(area).click()
        self.wait_until_settled()

    def wait_until_settled(self) -> None:
        """Wait until no command is pending."""
        expect(self.page.get_by_test_id("version")).to_have_attribute("data-sure", "true")

    def hold_commands(self) -> HeldRequests:
        return HeldRequests(self.page, "**/commands")

    def view(self) -> Any:
        return self.house.get(f"/api/tables/{self.table}", "player")

    def seat(self) -> Any:
        return self.view()["seats"][self.account]

    def assert_chips(self, **areas: int) -> None:
        """Assert that exactly these chips are on the felt, on the page and at the server."""
        for area, amount in areas.items():
            expect(self.box(area)).to_have_attribute("aria-label", chips_label(amount))
        self.assert_in_sync()
        assert self.seat()["areas"] == {area: amount for area, amount in areas.items() if amount}

    def assert_in_sync(self) -> None:
        """Assert that version, stack, stakes and room on the page are those of the server."""
        self.wait_until_settled()
        expect(self.page.get_by_test_id("version")).to_have_text(str(self.view()["version"]))
        seat = self.seat()
        expect(self.page.get_by_test_id("stack")).to_have_text(format_amount(seat["stack"]))
        expect(self.page.get_by_test_id("staked")).to_have_text(format_amount(seat["at_risk"]))
        room = self.house.get(f"/api/tables/{self.table}/room", "player")
        for spot, at in room["spots"].items():
            if at["room"] < at["maximum"]:
                left = format_amount(at["room"]).removesuffix(".00")
                expect(self.page.get_by_test_id(f"room-{spot}")).to_have_text(left)

    def open_betting(self) -> None:
        self.deal("open-betting")
        expect(self.page.get_by_test_id("phase")).to_contain_text(
            re.compile("place your bets", re.I)
        )

    def deal(self, *steps: str) -> None:
        for step in steps:
            self.house.take_step(self.table, step, DICE)

    def finish_round(self) -> None:
        self.house.deal(self.table, DICE)


def chips_label(amount: int) -> re.Pattern[str]:
    """Return a pattern of the accessible name of a box with this amount of the player's chips."""
    if amount:
        return re.compile(f"your chips {re.escape(format_amount(amount))}(,|$)")
    return re.compile("^(?!.*your chips)")
