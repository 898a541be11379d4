"""The odds page: odds sheet, mix of bets, comparison of games, readings and clauses."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.screens.browser import (
    assert_soon,
    format_amount,
    is_wider_than_screen,
    wait_until_loaded,
)
from tests.screens.house import GAMES

if TYPE_CHECKING:
    from tests.screens.browser import NewUser
    from tests.screens.house import House

GAME = "sg-rws-tai-sai-v6/c"
A4 = (595, 842)
"""The size of a page in points."""
READ_SHEET = """() => [...document.querySelectorAll("tr[data-box]:has(.picture)")].map((row) => {
  const figures = [...row.querySelectorAll("td.number")];
  return [row.dataset.box, ...figures.map((each) => each.textContent.trim())];
})"""
PARTS = 5
"""Of the page of a game: mix, sheet, comparison, readings, clauses."""

READ_COLUMNS = "all => all.map((each) => [Number(each.dataset.net), Number(each.dataset.ways)])"
READ_VERDICTS = (
    "all => Object.fromEntries(all.map((row) => [row.dataset.box, row.dataset.verdict]))"
)
READ_LINKS = "all => all.map((link) => link.getAttribute('href'))"


def format_percent(fraction: str, digits: int) -> str:
    over, _, under = fraction.partition("/")
    return f"{int(over) / int(under or 1) * 100:.{digits}f} %"


@pytest.mark.parametrize("layout", ["sg-e", "triple"])
def test_odds_sheet_shows_the_figures_of_the_api(
    layout: str, house: House, new_user: NewUser
) -> None:
    game = house.get(f"/api/rulebooks/{GAMES[layout]}")
    sheet = house.get(f"/api/rulebooks/{GAMES[layout]}/odds")
    page = new_user(house).sign_in("player", f"/odds/{GAMES[layout]}?view=sheet")
    expect(page.get_by_test_id("sheet")).to_be_visible()
    pays = {box["id"]: " / ".join(line["odds"] for line in box["lines"]) for box in game["boxes"]}
    expected = [
        [
            each["box"],
            pays[each["box"]],
            f"{each['figures']['ways']} of {each['figures']['of']}",
            format_percent(each["figures"]["hit"], 2),
            f"{each['figures']['edge_percent']:.3f} %",
            each["figures"]["edge"],
            f"{each['figures']['sd']:.4f}",
        ]
        for each in sheet["boxes"]
    ]
    assert_soon(page, lambda: page.evaluate(READ_SHEET), in_families(expected))
    expect(page.get_by_test_id("layout-edge")).to_contain_text(sheet["layout_edge"])
    families = dict.fromkeys(box["family"] for box in game["boxes"])
    expect(page.get_by_test_id("sheet").locator("th[scope=rowgroup]")).to_have_count(len(families))


def in_families(rows: list[list[str]]) -> list[list[str]]:
    """Group rows by the family of their box, in the order in which the families begin."""
    families = list(dict.fromkeys(row[0].partition(":")[0] for row in rows))
    return sorted(rows, key=lambda row: families.index(row[0].partition(":")[0]))


@pytest.mark.parametrize("game", [GAME, "nz-tai-sai-2008/2"])
def test_odds_sheet_prints_on_two_pages_of_a4(game: str, house: House, new_user: NewUser) -> None:
    page = new_user(house).sign_in("player", f"/odds/{game}?view=sheet")
    expect(page.get_by_test_id("sheet")).to_be_visible()

    pdf = page.pdf(prefer_css_page_size=True)

    sizes = re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", pdf)
    assert [(round(float(width)), round(float(height))) for width, height in sizes] == [A4, A4]


def test_phone_shows_every_part_of_a_game_and_edges_in_one_line(
    house: House, new_user: NewUser
) -> None:
    page = new_user(house, "phone", "zh-Hant").sign_in("player", "/odds/triple-dice/mat?view=sheet")
    edges = page.locator("[data-box] .edge")
    expect(edges.first).to_be_visible()
    wait_until_loaded(page)
    links = page.locator("main nav a")
    expect(links).to_have_count(PARTS)
    for number in range(PARTS):
        expect(links.nth(number)).to_be_in_viewport(ratio=1)
    assert edges.evaluate_all("all => Math.max(...all.map((each) => each.clientHeight))") < 30
    assert not is_wider_than_screen(page)


def test_odds_sheet_is_sorted_and_filtered(house: House, new_user: NewUser) -> None:
    page = new_user(house).sign_in("player", f"/odds/{GAME}?view=sheet")
    page.get_by_role("button", name="House edge").press("Enter")
    rows = page.get_by_test_id("sheet").locator("tr[data-box]")
    expect(rows.first).to_have_attribute("data-box", "pair:1-1-3")
    header = page.get_by_role("columnheader", name="House edge")
    expect(header).to_have_attribute("aria-sort", "descending")
    page.get_by_role("button", name="House edge").press("Enter")
    expect(header).to_have_attribute("aria-sort", "ascending")
    expect(rows.first).to_have_attribute("data-box", "small")
    page.get_by_label("Family").select_option("double")
    expect(rows).to_have_count(6)
    expect(page.get_by_role("status").filter(has_text="6 boxes shown")).to_be_visible()


def post_mix(house: House, stakes: dict[str, int]) -> dict[str, Any]:
    response = house.client("player").post(f"/api/rulebooks/{GAME}/mix", json={"stakes": stakes})
    found: dict[str, Any] = response.raise_for_status().json()
    return found


def test_figures_of_a_mix_are_those_of_the_api(house: House, new_user: NewUser) -> None:
    page = new_user(house).sign_in("player", f"/odds/{GAME}")
    page.locator("[data-area=big]").click()
    page.get_by_role("radio", name="25", exact=True).check(force=True)
    page.locator("[data-area='total:10']").click()
    page.locator("[data-area='domino:1-2']").click()
    expect(page.get_by_test_id("mix-total")).to_have_text("51.00")
    mix = post_mix(house, {"big": 100, "total:10": 2500, "domino:1-2": 2500})
    figures = mix["figures"]
    expect(page.get_by_test_id("mix-edge")).to_have_text(f"{figures['edge_percent']:.3f} %")
    expect(page.get_by_test_id("mix-figures")).to_contain_text(f"exactly {figures['edge']}")
    expect(page.get_by_test_id("mix-ways")).to_have_text(f"{figures['ways']} of 216")
    worst, best = min(mix["nets"]), max(mix["nets"])
    expect(page.get_by_test_id("mix-worst")).to_contain_text(format_amount(worst, sign=True))
    expect(page.get_by_test_id("mix-best")).to_contain_text(format_amount(best, sign=True))
    columns, nets = page.locator("figure rect[data-net]"), mix["nets"]
    assert_soon(
        page,
        lambda: columns.evaluate_all(READ_COLUMNS),
        [[net, nets.count(net)] for net in sorted(set(nets))],
    )
    page.get_by_role("button", name="Take Total 10 out of the mix").click()
    expect(page.get_by_test_id("mix-total")).to_have_text("26.00")


def test_mix_in_the_address_is_shared_and_bad_parts_are_named(
    house: House, new_user: NewUser
) -> None:
    page = new_user(house).sign_in("player", f"/odds/{GAME}")
    page.locator("[data-area=big]").click()
    page.locator("[data-area='domino:1-2']").click()
    expect(page).to_have_url(f"{house.url}/odds/{GAME}?mix=big*100,domino:1-2*100")
    page.get_by_role("link", name="Sheet").click()
    page.get_by_role("link", name="Felt and mix").click()
    page.locator("[data-area=big]").click()
    address = f"{house.url}/odds/{GAME}?mix=big*200,domino:1-2*100&view=mix"
    expect(page).to_have_url(address)
    page.go_back()
    page.go_back()
    expect(page.get_by_test_id("mix-total")).to_have_text("2.00")

    other = new_user(house).sign_in("player2", address)
    expect(other.get_by_test_id("mix-total")).to_have_text("3.00")
    expect(other.locator("[data-pile]")).to_have_count(2)
    other.goto(f"/odds/{GAME}?mix=big*100,pig*100,small*many,odd*0&roll=7-1-1&with=nothing")
    expect(other.get_by_test_id("mix-total")).to_have_text("1.00")
    note = other.get_by_test_id("bad-mix")
    expect(note).to_contain_text("“pig*100”, “small*many”, “odd*0”")
    expect(other.get_by_test_id("bad-roll")).to_contain_text("“7-1-1”")
    note.get_by_role("button", name="Close").click()
    expect(note).to_have_count(0)
    expect(other).to_have_url(f"{house.url}/odds/{GAME}?mix=big*100&roll=7-1-1&with=nothing")
    other.get_by_role("link", name="Comparison").click()
    expect(other.get_by_text("There is no game “nothing”")).to_be_visible()


def test_chosen_roll_shows_the_result_of_each_bet_of_a_mix(house: House, new_user: NewUser) -> None:
    page = new_user(house).sign_in("player", f"/odds/{GAME}?roll=1-3-6")
    expect(page.get_by_test_id("call")).to_have_text("1, 3, 6, total 10")
    expect(page.locator("[data-area='total:10'][data-lit]")).to_be_visible()
    page.locator("[data-area='total:10']").click()
    page.locator("[data-area=big]").click()
    lines = page.get_by_test_id("on-roll").locator("tbody tr")
    expect(lines).to_have_text(["Total 10wins at 6 to 1+6.00", "Bigloses-1.00"])
    expect(page.get_by_test_id("roll-net")).to_have_text("+5.00")
    page.get_by_role("radiogroup", name="Die 2").get_by_role("radio", name="4").check(force=True)
    expect(page.get_by_test_id("call")).to_have_text("1, 4, 6, total 11")
    expect(page.get_by_test_id("roll-net")).to_have_text("0.00")
    expect(page).to_have_url(f"{house.url}/odds/{GAME}?roll=1-4-6&mix=total:10*100,big*100")


def test_chips_on_both_areas_of_a_box_are_one_stake(house: House, new_user: NewUser) -> None:
    page = new_user(house).sign_in("player", "/odds/sg-rws-tai-sai-v6/e")
    page.locator("[data-area='big@left']").click()
    page.locator("[data-area='big@right']").click()
    rows = page.get_by_test_id("mix-stakes").locator("tbody tr")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("2.00")


def test_shooter_bet_cannot_be_added_to_a_mix(house: House, new_user: NewUser) -> None:
    page = new_user(house).sign_in("player", "/odds/triple-dice/mat")
    page.locator("[data-area=shooter]").click()
    expect(page.get_by_role("status").filter(has_text="several throws")).to_be_visible()
    expect(page.locator("[data-pile]")).to_have_count(0)


def test_two_games_are_compared_box_by_box(house: House, new_user: NewUser) -> None:
    here = edges(house, GAME)
    there = edges(house, "nz-tai-sai-2008/2")
    page = new_user(house).sign_in("player", f"/odds/{GAME}?view=compare")
    page.get_by_role("combobox", name="Other game").select_option("nz-tai-sai-2008/2")
    table = page.get_by_test_id("comparison")
    expect(table.locator("tbody tr")).to_have_count(len(here.keys() | there.keys()))
    assert_soon(
        page,
        lambda: table.locator("tbody tr").evaluate_all(READ_VERDICTS),
        {box: verdict(here, there, box) for box in here.keys() | there.keys()},
    )
    pair = table.locator("[data-box='pair:1-1-3']")
    expect(pair).to_contain_text("better for players there")
    for figure, text in {
        "pays-here": "50 to 1",
        "hit-here": "1.39 %",
        "edge-here": "29.167 %",
        "pays-there": pays(house, "nz-tai-sai-2008/2", "pair:1-1-3"),
        "hit-there": "1.39 %",
    }.items():
        expect(pair.locator(f"[data-figure={figure}]")).to_have_text(text)
    expect(page.get_by_text("Tai-Sai (New Zealand), alternative layout").last).to_be_visible()
    page.get_by_label("Only what differs").check()
    expect(table.locator("[data-verdict=same]")).to_have_count(0)


def pays(house: House, game: str, name: str) -> str:
    boxes = house.get(f"/api/rulebooks/{game}")["boxes"]
    box = next(each for each in boxes if each["id"] == name)
    return " / ".join(line["odds"] for line in box["lines"])


def edges(house: House, game: str) -> dict[str, str]:
    sheet = house.get(f"/api/rulebooks/{game}/odds")
    return {each["box"]: each["figures"]["edge"] for each in sheet["boxes"]}


def verdict(here: dict[str, str], there: dict[str, str], box: str) -> str:
    if box not in here or box not in there:
        return "only-here" if box in here else "only-there"
    if here[box] == there[box]:
        return "same"
    return "better" if Fraction(there[box]) < Fraction(here[box]) else "worse"


def test_odds_page_lists_the_readings_and_clauses_of_the_rulebook(
    house: House, new_user: NewUser
) -> None:
    game = house.get("/api/rulebooks/triple-dice/mat")
    page = new_user(house).sign_in("player", "/odds/triple-dice/mat?view=readings")
    readings = page.get_by_test_id("readings").locator("[data-reading]")
    expect(readings).to_have_count(len(game["readings"]))
    outside = page.locator("[data-reading=outside]")
    expect(outside).to_contain_text("Single crown: edge 17/108 → 17/216")
    page.get_by_role("link", name="Clauses").click()
    clauses = page.get_by_test_id("clauses").locator("[data-clause]")
    expect(clauses).to_have_count(len(game["clauses"]))
    page.get_by_label("Status").select_option("prompted")
    prompted = [each for each in game["clauses"].values() if each["status"] == "prompted"]
    expect(clauses).to_have_count(len(prompted))


@pytest.mark.parametrize(
    "name",
    [
        "sg-rws-tai-sai-v6/a",
        "sg-rws-tai-sai-open-cover-v5/a",
        "nz-tai-sai-2008/1",
        "crown-and-anchor/main",
    ],
)
def test_odds_page_shows_every_fact_of_a_declared_clause(
    house: House, new_user: NewUser, name: str
) -> None:
    clauses = house.get(f"/api/rulebooks/{name}")["clauses"]
    declared = {number: each for number, each in clauses.items() if each["status"] == "declared"}

    page = new_user(house).sign_in("player", f"/odds/{name}?view=clauses")

    assert declared
    for number, each in declared.items():
        shown = page.locator(f"[data-clause='{number}']")
        expect(shown.get_by_role("listitem")).to_have_text(each["facts"])


def test_every_game_is_listed_with_a_working_link(house: House, new_user: NewUser) -> None:
    page = new_user(house, lang="zh-Hant").sign_in("player", "/odds")
    games = [game for book in house.get("/api/rulebooks") for game in book["games"]]
    links = page.locator("main a.button")
    expect(links).to_have_count(len(games))
    addresses = sorted(f"/odds/{game}" for game in games)
    assert_soon(page, lambda: sorted(links.evaluate_all(READ_LINKS)), addresses)
    links.first.press("Enter")
    expect(page.get_by_role("heading", name="您的投注組合")).to_be_visible()


def test_mix_is_built_by_keyboard_alone(house: House, new_user: NewUser) -> None:
    page = new_user(house, lang="zh-Hans").sign_in("player", f"/odds/{GAME}")
    page.get_by_role("radio", name="1", exact=True).first.focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("radio", name="5", exact=True).first).to_be_checked()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("mix-total")).to_have_text("5.00")
    expect(page.locator("[data-area='pair:1-1-3']")).to_have_attribute(
        "aria-label", "对子 1-1-3, 赔率 1 赔 50, 您的筹码 5.00"
    )
