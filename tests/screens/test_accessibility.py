"""Accessibility: axe-core reports no violation on any page, and every page fits its screen.

The table has bets on the felt and a finished round, so that pages have something to show.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.screens.browser import (
    SIZES,
    accessibility_violations,
    is_wider_than_screen,
    wait_until_loaded,
)
from tests.screens.house import House, house_toml

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from playwright.sync_api import Locator, Page

    from tests.screens.browser import NewUser

AXE_SIZES = {"en": ("desk", "phone"), "zh-Hant": ("phone",)}
"""Where axe-core runs in `make test`: a translation changes texts, not the layout's rules."""

ALL_AXE_SIZES = dict.fromkeys(("en", "zh-Hant", "zh-Hans"), (*SIZES,))

TABLE = "sg-a"
PAGES = {
    "lobby": ("player", "/"),
    "player": ("player", f"/table/{TABLE}"),
    "dealer": ("dealer", f"/deal/{TABLE}"),
    "board": ("player", f"/board/{TABLE}"),
    "pit": ("pit-manager", "/pit"),
    "pit of a table": ("pit-manager", f"/pit/{TABLE}"),
    "odds": ("player", "/odds/sg-rws-tai-sai-v6/a"),
    "games": ("player", "/odds"),
    "account": ("player", "/account"),
}


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """Run a house whose table has a finished round and bets on the felt."""
    games = {"sg-a": "sg-rws-tai-sai-v6/a", "triple": "triple-dice/mat"}
    with House(tmp_path_factory.mktemp("accessibility"), house_toml(games, "refuse")) as house:
        house.pass_checks(TABLE)
        player = house.buy_in(TABLE)
        for finished in (True, False):
            house.send("dealer", TABLE, "OpenBetting")
            for box, amount in {"big": 2500, "total:9": 500, "single:6": 100}.items():
                house.send("player", TABLE, "PlaceBet", player=player, box=box, amount=amount)
            if finished:
                house.deal(TABLE, (1, 2, 6))
        yield house


@pytest.mark.parametrize("name", PAGES)
def test_page_has_no_accessibility_violations(name: str, house: House, new_user: NewUser) -> None:
    user, path = PAGES[name]
    page = new_user(house).sign_in(user, path)

    assert defects_in_every_language(page) == {}


LIGHT_PAGES = PAGES | {
    "sign-in": ("", "/"),
    "odds sheet": ("player", "/odds/sg-rws-tai-sai-v6/a?view=sheet"),
    "comparison": ("player", "/odds/sg-rws-tai-sai-v6/a?view=compare&with=nz-tai-sai-2008/1"),
    "odds": ("player", "/odds/sg-rws-tai-sai-v6/a?mix=big*100,pig*100&roll=1-3-6"),
    "approvals": ("pit-manager", "/pit?view=approvals"),
    "people": ("administrator", "/pit?view=people"),
}


def test_text_has_enough_contrast_in_the_light_theme(house: House, new_user: NewUser) -> None:
    """Check contrast, at one size and in one language: the theme changes colours only."""
    pages: dict[str, Page] = {}
    found = {}
    for name, (user, path) in LIGHT_PAGES.items():
        if user not in pages:
            window = new_user(house)
            window.page.emulate_media(color_scheme="light")
            pages[user] = window.sign_in(user, path) if user else window.page
        page = pages[user]
        page.goto(path)
        expect(page.locator("h1")).to_have_count(1)
        wait_until_loaded(page)
        if violations := accessibility_violations(page, "color-contrast"):
            found[name] = violations

    assert found == {}


@pytest.mark.long
@pytest.mark.parametrize("name", PAGES)
def test_page_has_no_accessibility_violations_in_any_language_at_any_size(
    name: str, house: House, new_user: NewUser
) -> None:
    user, path = PAGES[name]
    page = new_user(house).sign_in(user, path)

    assert defects_in_every_language(page, ALL_AXE_SIZES) == {}


def test_sign_in_form_has_no_accessibility_violations(house: House, new_user: NewUser) -> None:
    page = new_user(house).page
    page.goto("/")

    assert defects_in_every_language(page) == {}


def test_open_dialogs_have_no_accessibility_violations(house: House, new_user: NewUser) -> None:
    page = new_user(house).sign_in("player", "/")
    page.get_by_role("button", name="Rules").first.click()
    dialog = page.get_by_role("dialog")
    expect(dialog.locator("summary")).to_have_count(4)
    open_details(dialog)
    in_lobby = defects_at_every_size(page)
    page = new_user(house).sign_in("dealer", f"/deal/{TABLE}")
    page.get_by_role("button", name="Dice exposed early").click()
    expect(page.get_by_role("dialog")).to_be_visible()

    assert (in_lobby, defects_at_every_size(page)) == ({}, {})


def test_refused_bet_message_has_no_accessibility_violations(
    house: House, new_user: NewUser
) -> None:
    other = house.buy_in(TABLE, "player2")
    house.send("player2", TABLE, "PlaceBet", player=other, box="big", amount=95_000)
    page = new_user(house).sign_in("player", f"/table/{TABLE}")
    page.get_by_role("radio", name="Chip of 100", exact=True).locator("visible=true").click()
    page.locator("[data-area='big']").click()
    expect(page.get_by_test_id("refusal")).to_contain_text("more than fits")

    assert defects_at_every_size(page) == {}


def defects_in_every_language(
    page: Page, sizes: Mapping[str, tuple[str, ...]] = AXE_SIZES
) -> dict[str, list[object]]:
    found = {}
    for language, axe_sizes in sizes.items():
        page.evaluate(f"localStorage.setItem('threedice.language', '{language}')")
        page.reload()
        expect(page.locator("html")).to_have_attribute("lang", language)
        expect(page.locator("h1")).to_have_count(1)
        wait_until_loaded(page)
        open_details(page.locator("main"))
        for size, defects in defects_at_every_size(page, axe_sizes).items():
            found[f"{language} {size}"] = defects
    return found


def defects_at_every_size(
    page: Page, axe_sizes: tuple[str, ...] = (*SIZES,)
) -> dict[str, list[object]]:
    """Return the defects of a page as it is, by size of the screen."""
    found = {}
    for size, (width, height) in SIZES.items():
        page.set_viewport_size({"width": width, "height": height})
        defects: list[object] = []
        if size in axe_sizes:
            defects += accessibility_violations(page)
        if is_wider_than_screen(page):
            defects.append("the page is wider than the screen")
        if defects:
            found[size] = defects
    return found


def open_details(place: Locator) -> None:
    closed = place.locator("details:not([open]) > summary")
    while closed.count():
        closed.first.click()
