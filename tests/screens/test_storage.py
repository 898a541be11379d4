"""Corrupt values in the browser's local storage."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

if TYPE_CHECKING:
    from tests.screens.browser import NewUser
    from tests.screens.house import House

TABLE = "sg-a"
PAGES = {
    "/": "player",
    f"/table/{TABLE}": "player",
    f"/board/{TABLE}": "player",
    "/odds/sg-rws-tai-sai-v6/a": "player",
    "/account": "player",
    f"/deal/{TABLE}": "dealer",
    f"/pit/{TABLE}": "pit-manager",
}
CORRUPT = "Storage.prototype.getItem = () => {text}"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("{", marks=pytest.mark.long),
        pytest.param("[null, 7]", marks=pytest.mark.long),
        '{"open": [7], "read": [null], "big": "x"}',
    ],
)
def test_corrupt_local_storage_breaks_no_page(house: House, new_user: NewUser, text: str) -> None:
    house.pass_checks(TABLE)
    house.buy_in(TABLE)
    users = {role: new_user(house) for role in set(PAGES.values())}
    for user in users.values():
        user.page.add_init_script(CORRUPT.format(text=json.dumps(text)))
    for path, role in PAGES.items():
        page = users[role].sign_in(role, path)
        expect(page.locator("html")).to_have_attribute("lang", "en")
        expect(page.locator("h1")).to_have_count(1)
        if path.startswith("/table"):
            page.get_by_role("button", name="Favourites").click()
            expect(page.get_by_text("You have no favourites")).to_be_visible()
