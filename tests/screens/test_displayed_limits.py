"""The limits that the lobby and the board display, as each rulebook demands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.screens.browser import accessibility_violations, is_wider_than_screen
from tests.screens.house import House, house_toml

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.screens.browser import NewUser

GAMES = {"sg": "sg-rws-tai-sai-v6/c", "nz": "nz-tai-sai-2008/1", "triple": "triple-dice/mat"}
ONE_RANGE = "limits = { minimum = 100, maximum = 100000, differential = 1000000 }"
SEVERAL_RANGES = """limits = { minimum = 100, maximum = 100000, differential = 1000000, only = {
  triple = [100, 5000], any-triple = [100, 5000], "total:4" = [500, 20000] } }"""
ON_A_PHONE = pytest.param("phone", "zh-Hans", marks=pytest.mark.long)
SIGNS = {
    "en": [
        "Limits 1 – 1,000 SGD",
        "Any Triple Bet, Specific Straight Triple Bet: 1 – 50",
        "Total 4: 5 – 200",
        "Differential Big – Small at most 10,000",
        "Differential Odd – Even at most 10,000",
    ],
    "zh-Hans": [
        "限红 1 – 1,000 SGD",
        "全围、围骰：1 – 50",
        "4 点：5 – 200",
        "大与小最大差额 10,000",
        "单与双最大差额 10,000",
    ],
    "zh-Hant": [
        "限紅 1 – 1,000 SGD",
        "全圍、圍骰：1 – 50",
        "4 點：5 – 200",
        "大與小最大差額 10,000",
        "單與雙最大差額 10,000",
    ],
}


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    toml = house_toml(GAMES).replace(ONE_RANGE, SEVERAL_RANGES.replace("\n", ""), 1)
    with House(tmp_path_factory.mktemp("limits"), toml) as house:
        yield house


@pytest.mark.clause("sg-rws-tai-sai-v6 3.3")
@pytest.mark.parametrize(("size", "lang"), [("desk", "en"), ON_A_PHONE])
def test_lobby_displays_minimum_maximum_and_differential(
    house: House, new_user: NewUser, size: str, lang: str
) -> None:
    page = new_user(house, size, lang).sign_in("player")

    shown = page.locator("article[data-table=sg]").get_by_test_id("limits").get_by_role("listitem")
    expect(shown).to_have_text(SIGNS[lang])
    assert accessibility_violations(page) == []
    assert not is_wider_than_screen(page)


@pytest.mark.clause("sg-rws-tai-sai-v6 3.3")
@pytest.mark.parametrize(("size", "lang"), [("board", "zh-Hant"), ON_A_PHONE])
def test_board_displays_minimum_maximum_and_differential(
    house: House, new_user: NewUser, size: str, lang: str
) -> None:
    page = new_user(house, size, lang).sign_in("player", "/board/sg")

    expect(page.get_by_test_id("limits").get_by_role("listitem")).to_have_text(SIGNS[lang])
    assert accessibility_violations(page) == []
    assert not is_wider_than_screen(page)


@pytest.mark.clause("nz-tai-sai-2008 2.0", "triple-dice 6")
@pytest.mark.parametrize("table", ["nz", "triple"])
def test_lobby_displays_minimum_and_maximum_where_there_is_no_differential(
    house: House, new_user: NewUser, table: str
) -> None:
    page = new_user(house).sign_in("player")

    limits = page.locator(f"article[data-table={table}]").get_by_test_id("limits")
    expect(limits.get_by_role("listitem")).to_have_text(["Limits 1 – 1,000 SGD"])


@pytest.mark.clause("sg-rws-tai-sai-v6 3.3")
def test_rules_page_lists_a_box_with_limits_of_its_own_by_itself(
    house: House, new_user: NewUser
) -> None:
    page = new_user(house).sign_in("player")
    page.locator("article[data-table=sg]").get_by_role("button").click()

    totals = page.get_by_role("dialog").locator("tr[data-family=total]")
    expect(totals.locator("th").nth(0)).to_have_text("Total 4")
    expect(totals.nth(0).locator("td").last).to_have_text("5 – 200")
    expect(totals.locator("th").nth(1)).to_have_text("Total 17")
    expect(totals.nth(1).locator("td").last).to_have_text("1 – 1,000")
