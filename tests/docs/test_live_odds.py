"""The live odds page in a browser: Python runs there, without a server behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import threedice as td
from tests.screens.browser import SIZES, TIMEOUT_MILLISECONDS, is_wider_than_screen, launch_browser

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

GAME = "sg-rws-tai-sai-v6/a"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launch_browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def page(browser: Browser, site_url: str) -> Iterator[Page]:
    """Open the page of a game, and wait until Python has started."""
    width, height = SIZES["phone"]
    page = browser.new_page(viewport={"width": width, "height": height})
    page.set_default_timeout(TIMEOUT_MILLISECONDS)
    elsewhere: list[str] = []
    page.on(
        "request",
        lambda each: None if each.url.startswith(site_url) else elsewhere.append(each.url),
    )
    page.goto(f"{site_url}/live-odds.html?game={GAME}")
    page.get_by_role("button", name="big", exact=True).wait_for()
    yield page
    assert [each for each in elsewhere if not each.startswith(("data:", "blob:"))] == []
    page.close()


def figure(page: Page, name: str) -> list[str]:
    row = page.locator("#live-sheet tr", has=page.get_by_text(name, exact=True))
    return row.locator("td").all_text_contents()


def test_two_boxes_picked_on_the_felt_show_the_exact_sheet_of_their_mix(page: Page) -> None:
    figures = td.Mix(td.load(GAME), {"big": 50, "total:10": 20}).figures

    page.get_by_label("Stake", exact=True).fill("50")
    page.get_by_role("button", name="big", exact=True).click()
    page.get_by_label("Stake", exact=True).fill("20")
    page.get_by_role("button", name="total:10", exact=True).press("Enter")

    assert figure(page, "house edge") == ["house edge", str(figures.edge), td.percent(figures.edge)]
    assert figure(page, "wins")[1] == str(figures.hit)
    assert not is_wider_than_screen(page)

    page.get_by_role("button", name="total:10", exact=True).click()
    assert figure(page, "house edge")[1] == "1/36"


def test_box_of_several_throws_cannot_be_picked(page: Page) -> None:
    page.get_by_label("Game", exact=True).select_option("triple-dice/mat")

    assert page.get_by_role("button", name="red", exact=True).count() == 1
    assert page.get_by_role("button", name="shooter", exact=True).count() == 0


def test_stake_of_nothing_is_not_put_on_a_box(page: Page) -> None:
    page.get_by_label("Game", exact=True).select_option(GAME)
    page.get_by_label("Stake", exact=True).fill("0")

    page.get_by_role("button", name="big", exact=True).click()

    assert page.locator("#live-sheet").inner_text() == ""
