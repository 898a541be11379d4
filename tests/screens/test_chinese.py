"""The pages in Chinese: no English sentence, and calls that are shown and spoken in Chinese."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.screens.house import House, house_toml, table_toml
from tests.screens.player_page import PlayerPage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page

    from tests.screens.browser import NewUser

GAMES = {
    "hant-sg": "sg-rws-tai-sai-v6/a",
    "hans-sg": "sg-rws-tai-sai-v6/a",
    "hant-nz": "nz-tai-sai-2008/1",
    "hans-nz": "nz-tai-sai-2008/1",
}
AUTOMATIC = (
    table_toml("auto", "sg-rws-tai-sai-open-cover-v5/a", "refuse")
    + "dealt_by_house = { betting_seconds = 2, closing_seconds = 1, showing_seconds = 1 }\n"
)
NAMES = ("The test house", "threedice verify-dice")
"""English words that are names: of the house, and of a command to type."""

ENGLISH_SENTENCES = """(names) => {
  const sentence = /[A-Za-z][A-Za-z'’-]*(?:[\\s,.;:]+[A-Za-z][A-Za-z'’-]*){2,}/;
  const found = [];
  const isOriginal = (element) => element.closest("[lang]")?.getAttribute("lang") === "en";
  const look = (text, element, where) => {
    if (!text || isOriginal(element)) return;
    const words = names.reduce((rest, name) => rest.replaceAll(name, ""), text);
    if (sentence.test(words)) found.push(`${where}: ${text.trim().replace(/\\s+/g, " ")}`);
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!element.closest("script, style")) look(node.data, element, element.localName);
  }
  for (const element of document.querySelectorAll("*"))
    for (const name of ["aria-label", "title", "placeholder", "alt"])
      look(element.getAttribute(name), element, name);
  return found;
}"""
"""Three Latin words in a row outside an element that is marked as English."""

RECORD_SPEECH = """() => {
  window.spoken = [];
  speechSynthesis.speak = (words) => window.spoken.push([words.lang, words.text]);
}"""


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """Run a house with a table for each language and rulebook, and an automatic one."""
    toml = house_toml(GAMES, "refuse") + AUTOMATIC
    with House(tmp_path_factory.mktemp("chinese"), toml) as house:
        yield house


def assert_no_english(page: Page) -> None:
    found: list[str] = page.evaluate(ENGLISH_SENTENCES, list(NAMES))
    assert not found, "\n".join(found)


def open_page(house: House, new_user: NewUser, lang: str, user: str, path: str) -> Page:
    page: Page = new_user(house, "desk", lang).sign_in(user, path)
    return page


WORDS: dict[str, dict[str, Any]] = {
    "zh-Hant": {
        "call": "1、4、5，共 10 點",
        "bets": "請下注",
        "no-more": "停止下注",
        "voice": "zh-HK",
        "won": "1 賠 1",
    },
    "zh-Hans": {
        "call": "1、4、5，共 10 点",
        "bets": "请下注",
        "no-more": "停止下注",
        "voice": "zh-CN",
        "won": "1 赔 1",
    },
}


@pytest.mark.parametrize("lang", ["zh-Hant", "zh-Hans"])
def test_round_has_no_english_sentence_on_player_dealer_and_board_pages(
    house: House, new_user: NewUser, lang: str
) -> None:
    table, words = f"{lang[3:].lower()}-sg", WORDS[lang]
    player = PlayerPage(house, table, new_user, lang=lang)
    dealer = open_page(house, new_user, lang, "dealer", f"/deal/{table}")
    board = open_page(house, new_user, lang, "dealer", f"/board/{table}")
    player.page.evaluate(RECORD_SPEECH)
    player.page.get_by_test_id("sound").locator("visible=true").click()
    pages = (player.page, dealer, board)
    player.deal("open-betting")
    expect(player.page.get_by_test_id("phase")).to_contain_text(words["bets"])
    expect(board.get_by_test_id("phase")).to_have_text(words["bets"])
    expect(dealer.get_by_test_id("say")).to_contain_text(words["no-more"])
    for box in ("small", "big"):
        house.send("player", table, "PlaceBet", player=player.account, box=box, amount=100)
    player.box("small").hover()
    other = house.buy_in(table, "player2")
    house.send("player2", table, "PlaceBet", player=other, box="total:9", amount=100_000)
    player.box("total:9").click()
    expect(player.refusal).to_be_visible()
    for each in pages:
        assert_no_english(each)
    dealer.locator("[data-irregularity=dice-not-flat]").click()
    expect(dealer.get_by_test_id("consequence")).to_be_visible()
    assert_no_english(dealer)
    dealer.keyboard.press("Escape")
    player.deal("close-betting", "tumble", "uncover", "call-result")
    for page in (player.page, board):
        expect(page.get_by_test_id("call")).to_have_text(words["call"])
    expect(dealer.get_by_test_id("called")).to_contain_text(words["call"])
    for each in pages:
        assert_no_english(each)
    player.deal("enter-result", "illuminate", "collect-losers", "pay-winners")
    player.page.locator("[data-testid=history] button").first.click()
    dialog = player.page.get_by_role("dialog")
    expect(dialog.locator("[data-bet=small]")).to_contain_text(words["won"])
    dialog.get_by_test_id("chip-by-chip").locator("summary").click()
    expect(dialog.get_by_role("listitem").filter(has_text=words["call"]).first).to_be_visible()
    for each in pages:
        assert_no_english(each)
    assert player.page.evaluate("window.spoken") == [
        [words["voice"], words["bets"]],
        [words["voice"], words["no-more"]],
        [words["voice"], words["call"]],
    ]


@pytest.mark.parametrize("lang", ["zh-Hant", "zh-Hans"])
def test_dialogs_of_the_dealer_and_sealed_dice_have_no_english_sentence(
    house: House, new_user: NewUser, lang: str
) -> None:
    table = f"{lang[3:].lower()}-nz"
    house.buy_in(table)
    page = open_page(house, new_user, lang, "supervisor", f"/deal/{table}")
    expect(page.get_by_test_id("next").or_(page.locator("[data-check]")).first).to_be_visible()
    assert_no_english(page)
    house.pass_checks(table)
    expect(page.locator("[data-irregularity]").first).to_be_visible()
    assert_no_english(page)
    expect(page.locator("[data-player]")).to_have_count(1)
    page.keyboard.press("p")
    for key in "hqm":
        page.keyboard.press(key)
        expect(page.get_by_role("dialog")).to_be_visible()
        assert_no_english(page)
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)
    watching = open_page(house, new_user, lang, "player", "/table/auto")
    fairness = watching.get_by_test_id("fairness")
    fairness.get_by_role("button").click()
    expect(fairness.get_by_test_id("dice-check")).to_have_attribute("data-fair", "true")
    assert_no_english(watching)
