"""The lobby: every table as the API has it, ways in by role, and the rules a tap away."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

import threedice
from tests.screens.dealing import deal
from tests.screens.house import GAMES
from threedice.odds import odds_sheet

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Locator, Page

    from tests.screens.browser import Person
    from tests.screens.house import House

LANGUAGES = ("en", "zh-Hant", "zh-Hans")


def card(page: Page, table: str) -> Locator:
    return page.locator(f"article[data-table={table}]")


def test_lobby_lists_every_table_with_its_limits(
    house: House, person: Callable[..., Person]
) -> None:
    page = person(house).sign_in("player")
    for line in house.get("/api/tables", "player"):
        shown = card(page, line["table"])
        expect(shown).to_contain_text(line["title"])
        expect(shown.get_by_test_id("limits")).to_have_text("Limits 1 – 1,000 SGD")


def test_lobby_follows_a_round_live(house: House, person: Callable[..., Person]) -> None:
    page = person(house).sign_in("player")
    house.open_table("macau")
    shown = card(page, "macau")
    deal(house, "macau", (2, 5, 6), until="close-betting")
    expect(shown.get_by_test_id("phase")).to_contain_text("Place your bets")
    deal(house, "macau", (2, 5, 6), until="enter-result")
    expect(shown.get_by_test_id("phase")).to_contain_text("No more bets")
    deal(house, "macau", (2, 5, 6))
    latest = shown.get_by_test_id("results").locator("li").first
    expect(latest).to_have_text("13")
    faces = [each.get_attribute("aria-label") for each in latest.get_by_role("img").all()]
    assert faces == ["2", "5", "6"]


@pytest.mark.parametrize(
    ("who", "ways"),
    [
        ("player", ["Play", "Board"]),
        ("dealer", ["Deal", "Board"]),
        ("pit-manager", ["Deal", "Board"]),
        ("auditor", ["Board"]),
    ],
)
def test_lobby_offers_the_links_of_the_users_role(
    house: House, person: Callable[..., Person], who: str, ways: list[str]
) -> None:
    page = person(house).sign_in(who)
    shown = card(page, "nz-2")
    expect(shown).to_be_visible()
    assert shown.get_by_role("link").all_inner_texts() == ways
    expect(shown.get_by_role("button")).to_have_text("Rules")


@pytest.mark.parametrize("table", ["sg-e", "nz-2", "triple"])
def test_rules_dialog_states_the_house_edge_of_every_family(
    house: House, person: Callable[..., Person], table: str
) -> None:
    page = person(house).sign_in("player")
    card(page, table).get_by_role("button").click()
    paper = page.get_by_role("dialog")
    expect(paper).to_be_visible()
    sheet = odds_sheet(threedice.load(GAMES[table]))
    expected = {
        (each.box.family, f"{float(each.figures.edge) * 100:.2f} %") for each in sheet.boxes
    }
    rows = paper.locator("tr[data-family]").all()
    shown = {
        (row.get_attribute("data-family"), row.locator("td").nth(3).inner_text()) for row in rows
    }
    assert shown == expected


def test_rules_dialog_quotes_the_announcements_and_every_clause(
    house: House, person: Callable[..., Person]
) -> None:
    page = person(house).sign_in("player")
    game = house.get("/api/tables/nz-1/game")
    card(page, "nz-1").get_by_role("button").click()
    paper = page.get_by_role("dialog")
    expect(paper.locator("summary")).to_have_count(4)
    for heading in paper.locator("summary").all()[1:]:
        heading.click()
    order = [game["conduct"]["procedure"]["steps"][name] for name in order_of(game)]
    said = [step["announces"] for step in order if step.get("announces")]
    assert said == ["Place your bets", "No more bets"]
    assert paper.locator("ol q").all_inner_texts() == said
    shown = paper.locator("dl.clauses").inner_text()
    assert all(f"{n}" in shown and each["summary"] in shown for n, each in game["clauses"].items())
    page.keyboard.press("Escape")
    expect(paper).to_be_hidden()


def order_of(game: dict[str, Any]) -> list[str]:
    order: list[str] = game["conduct"]["procedure"]["order"]
    return order


def test_lobby_marks_its_data_as_stale_while_offline(
    house: House, person: Callable[..., Person]
) -> None:
    someone = person(house)
    page = someone.sign_in("player")
    expect(card(page, "sg-a")).to_be_visible()
    someone.context.set_offline(offline=True)
    expect(page.get_by_test_id("old")).to_be_visible()
    expect(card(page, "sg-a")).to_be_visible()
    someone.context.set_offline(offline=False)
    expect(page.get_by_test_id("old")).to_be_hidden()
