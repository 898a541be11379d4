"""The lobby: the list of tables, links by role, and the rules dialog."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

import threedice
from tests.screens.browser import assert_soon
from tests.screens.house import GAMES
from threedice.odds import odds_sheet

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

    from tests.screens.browser import NewUser
    from tests.screens.house import House

READ_EDGES = "all => all.map((row) => [row.dataset.family, row.cells[4].innerText])"


def card(page: Page, table: str) -> Locator:
    return page.locator(f"article[data-table={table}]")


@pytest.mark.clause("sg-rws-tai-sai-v6 3.3", "triple-dice 6")
def test_lobby_lists_every_table_with_its_limits(house: House, new_user: NewUser) -> None:
    page = new_user(house).sign_in("player")
    for line in house.get("/api/tables", "player"):
        shown = card(page, line["table"])
        expect(shown).to_contain_text(line["title"])
        if not line["game"].startswith("nz-"):  # by its rulebook, no limits are displayed
            expect(shown.get_by_test_id("limits")).to_contain_text("Limits 1 – 1,000 SGD")


@pytest.mark.parametrize(
    ("lang", "size", "texts"),
    [
        (
            "en",
            "desk",
            {
                "sg-a": "Rules in force from 6 Oct 2023, 08:00",
                "nz-1": "Rules in force, consolidated 25 Apr 2008",
                "triple": "Rules in force, without a date",
            },
        ),
        ("zh-Hant", "phone", {"nz-2": "規則有效；2008年4月25日 彙編文本"}),
    ],
)
def test_lobby_says_from_when_the_rules_of_a_table_are_in_force(
    house: House, new_user: NewUser, lang: str, size: str, texts: dict[str, str]
) -> None:
    page = new_user(house, size, lang).sign_in("player")

    for table, text in texts.items():
        expect(card(page, table).get_by_test_id("in-force")).to_have_text(text)


def test_lobby_follows_a_round_live(house: House, new_user: NewUser) -> None:
    page = new_user(house).sign_in("player")
    house.pass_checks("macau")
    shown = card(page, "macau")
    house.deal("macau", (2, 5, 6), until="close-betting")
    expect(shown.get_by_test_id("phase")).to_contain_text("Place your bets")
    house.deal("macau", (2, 5, 6), until="enter-result")
    expect(shown.get_by_test_id("phase")).to_contain_text("No more bets")
    house.deal("macau", (2, 5, 6))
    latest = shown.get_by_test_id("results").locator("li").first
    expect(latest).to_have_text("13")
    for die, face in enumerate(("2", "5", "6")):
        expect(latest.get_by_role("img").nth(die)).to_have_attribute("aria-label", face)
    expect(latest.get_by_role("img")).to_have_count(3)


@pytest.mark.parametrize(
    ("user", "links"),
    [
        ("player", ["Play", "Board"]),
        ("dealer", ["Deal", "Board"]),
        ("pit-manager", ["Deal", "Board"]),
        ("auditor", ["Board"]),
    ],
)
def test_lobby_offers_the_links_of_the_users_role(
    house: House, new_user: NewUser, user: str, links: list[str]
) -> None:
    page = new_user(house).sign_in(user)
    shown = card(page, "nz-2")
    expect(shown).to_be_visible()
    expect(shown.get_by_role("link")).to_have_text(links)
    expect(shown.get_by_role("button")).to_have_text("Rules")


@pytest.mark.parametrize("table", ["sg-e", "nz-2", "triple"])
def test_rules_dialog_states_the_house_edge_of_every_family(
    house: House, new_user: NewUser, table: str
) -> None:
    page = new_user(house).sign_in("player")
    card(page, table).get_by_role("button").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    sheet = odds_sheet(threedice.load(GAMES[table]))
    expected = {
        (each.box.family, f"{float(each.figures.edge) * 100:.2f} %") for each in sheet.boxes
    }
    rows = dialog.locator("tr[data-family]")
    assert_soon(page, lambda: {tuple(line) for line in rows.evaluate_all(READ_EDGES)}, expected)


def test_rules_dialog_quotes_the_announcements_and_every_clause(
    house: House, new_user: NewUser
) -> None:
    page = new_user(house).sign_in("player")
    game = house.get("/api/tables/nz-1/game")
    card(page, "nz-1").get_by_role("button").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.locator("summary")).to_have_count(4)
    for heading in (1, 2, 3):
        dialog.locator("summary").nth(heading).click()
    procedure = game["conduct"]["procedure"]
    steps = [procedure["steps"][name] for name in procedure["order"]]
    announcements = [step["announces"] for step in steps if step.get("announces")]
    assert announcements == ["Place your bets", "No more bets"]
    expect(dialog.locator("ol q")).to_have_text(announcements)
    for number, clause in game["clauses"].items():
        expect(dialog.locator("dl.clauses")).to_contain_text(number)
        expect(dialog.locator("dl.clauses")).to_contain_text(clause["summary"])
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()


def test_lobby_marks_its_data_as_stale_while_offline(house: House, new_user: NewUser) -> None:
    user = new_user(house)
    page = user.sign_in("player")
    expect(card(page, "sg-a")).to_be_visible()
    user.context.set_offline(offline=True)
    expect(page.get_by_test_id("old")).to_be_visible()
    expect(card(page, "sg-a")).to_be_visible()
    user.context.set_offline(offline=False)
    expect(page.get_by_test_id("old")).to_be_hidden()
