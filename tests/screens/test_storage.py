"""Damaged values in the browser's storage."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.screens.house import House, house_toml

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.screens.browser import Person

TABLE = "sg-a"
GAME = "sg-rws-tai-sai-v6/a"
PAGES = {
    "/": "player",
    f"/table/{TABLE}": "player",
    f"/board/{TABLE}": "player",
    f"/odds/{GAME}": "player",
    "/account": "player",
    f"/deal/{TABLE}": "dealer",
    f"/pit/{TABLE}": "pit-manager",
}
DAMAGE = "Storage.prototype.getItem = () => {text}"


@pytest.fixture(scope="module")
def seated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A house with one table, at which the player has a seat."""
    house = House(tmp_path_factory.mktemp("seated"), house_toml({TABLE: GAME}))
    house.open_table(TABLE)
    house.seat(TABLE)
    yield house
    house.stop()


@pytest.mark.parametrize("text", ["{", "[null, 7]", '{"open": [7], "read": [null], "big": "x"}'])
def test_corrupt_local_storage_breaks_no_page(
    seated: House, person: Callable[..., Person], text: str
) -> None:
    people = {role: person(seated) for role in set(PAGES.values())}
    for each in people.values():
        each.page.add_init_script(DAMAGE.format(text=json.dumps(text)))
    for path, role in PAGES.items():
        page = people[role].sign_in(role, path)
        expect(page.locator("html")).to_have_attribute("lang", "en")
        expect(page.locator("h1")).to_have_count(1)
        if path.startswith("/table"):
            page.get_by_role("button", name="Favourites").click()
            expect(page.get_by_text("You have no favourites")).to_be_visible()
