"""For everybody: axe-core finds nothing on any page, in three languages and at three sizes.

Each page is looked at with live bets on the felt; and with a dialog open, and a refusal showing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.screens.axe import violations
from tests.screens.browser import SIZES
from tests.screens.house import House, house_toml

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Locator, Page

    from tests.screens.browser import Person

    Put = Callable[..., Person]

LANGUAGES = ("en", "zh-Hant", "zh-Hans")
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
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A house whose table has bets on the felt, and a round behind it."""
    games = {"sg-a": "sg-rws-tai-sai-v6/a", "triple": "triple-dice/mat"}
    house = House(tmp_path_factory.mktemp("live"), house_toml(games, mode="refuse"))
    house.open_table(TABLE)
    player = house.seat(TABLE)
    for betting in (True, False):
        house.send("dealer", TABLE, "OpenBetting")
        for box, amount in {"big": 2500, "total:9": 500, "single:6": 100}.items():
            house.send("player", TABLE, "PlaceBet", player=player, box=box, amount=amount)
        if betting:
            house.play_out(TABLE, (1, 2, 6))
    yield house
    house.stop()


def looked_at(page: Page) -> dict[str, object]:
    """Return what is found at every size in every language, in one window."""
    found: dict[str, object] = {}
    for language in LANGUAGES:
        page.evaluate(f"localStorage.setItem('threedice.language', '{language}')")
        page.reload()
        expect(page.locator("html")).to_have_attribute("lang", language)
        expect(page.locator("h1")).to_have_count(1)
        page.wait_for_load_state("networkidle")
        unfold(page.locator("main"))
        found |= {f"{language} {size}": wrong for size, wrong in at_every_size(page).items()}
    return found


def unfold(place: Locator) -> None:
    closed = place.locator("details:not([open]) > summary")
    while closed.count():
        closed.first.click()


def at_every_size(page: Page) -> dict[str, object]:
    """Return what is found on a page as it stands, size by size; it fits all of them."""
    found: dict[str, object] = {}
    for size, (width, height) in SIZES.items():
        page.set_viewport_size({"width": width, "height": height})
        wrong: list[object] = [*violations(page)]
        if page.evaluate("document.documentElement.scrollWidth > window.innerWidth"):
            wrong.append("it is wider than the screen")
        if wrong:
            found[size] = wrong
    return found


@pytest.mark.parametrize("name", PAGES)
def test_page_has_no_accessibility_violations(name: str, live: House, person: Put) -> None:
    who, path = PAGES[name]
    page = person(live).sign_in(who, path)

    assert looked_at(page) == {}


def test_sign_in_form_has_no_accessibility_violations(live: House, person: Put) -> None:
    page = person(live).page
    page.goto("/")

    assert looked_at(page) == {}


def test_open_dialogs_have_no_accessibility_violations(live: House, person: Put) -> None:
    page = person(live).sign_in("player", "/")
    page.get_by_role("button", name="Rules").first.click()
    paper = page.get_by_role("dialog")
    expect(paper.locator("summary")).to_have_count(4)
    unfold(paper)
    in_lobby = at_every_size(page)
    page = person(live).sign_in("dealer", f"/deal/{TABLE}")
    page.get_by_role("button", name="Dice exposed early").click()
    expect(page.get_by_role("dialog")).to_be_visible()

    assert (in_lobby, at_every_size(page)) == ({}, {})


def test_refused_bet_message_has_no_accessibility_violations(live: House, person: Put) -> None:
    other = live.seat(TABLE, "player2")
    live.send("player2", TABLE, "PlaceBet", player=other, box="big", amount=95_000)
    page = person(live).sign_in("player", f"/table/{TABLE}")
    page.get_by_role("radio", name="Chip of 100", exact=True).locator("visible=true").click()
    page.locator("[data-area='big']").click()
    expect(page.get_by_test_id("refusal")).to_contain_text("more than fits")

    assert at_every_size(page) == {}
