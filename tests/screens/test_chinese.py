"""The pages in Chinese: no English sentence, and calls that are shown and spoken in Chinese."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.screens.browser import wait_until_loaded
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
    "walked": "sg-rws-tai-sai-v6/a",
}
BETTING_SECONDS = 600
AUTOMATIC = table_toml("auto", "sg-rws-tai-sai-open-cover-v5/a", "refuse") + (
    f"dealt_by_house = {{ betting_seconds = {BETTING_SECONDS}, "
    "closing_seconds = 0, showing_seconds = 0 }\n"
)
"""A table whose rounds end only when a test moves the clock forward."""

TABLE_TITLES = ("Hant SG", "Hans SG", "Hant NZ", "Hans NZ", "Walked", "Auto")
NAMES = ("The test house", *TABLE_TITLES, "threedice verify-dice", "tai-sai-7", "Asia/Singapore")
"""Latin words that are names: of the house, its tables and its time zone, a command, an example."""

ENGLISH_SENTENCES = """(names) => {
  const sentence = /[A-Za-z][A-Za-z'’-]+[,.;:]?\\s+[A-Za-z][A-Za-z'’-]+/;
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
"""Two Latin words in a row outside an element that is marked as English."""

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
    expect(fairness.get_by_test_id("commitment")).to_be_visible()
    house.advance_clock(BETTING_SECONDS)
    fairness.get_by_role("button").click()
    expect(fairness.get_by_test_id("dice-check")).to_have_attribute("data-fair", "true")
    assert_no_english(watching)


ODDS = "/odds/sg-rws-tai-sai-v6/a"
PAGES = {
    "": ("/",),
    "player": (
        "/",
        "/table/walked",
        "/board/walked",
        "/account",
        "/odds",
        f"{ODDS}?mix=big*100,total:10*100&roll=1-3-6",
        f"{ODDS}?mix=pig*100&roll=7-7-7",
        f"{ODDS}?view=sheet",
        f"{ODDS}?view=compare&with=nz-tai-sai-2008/1",
        f"{ODDS}?view=readings",
        f"{ODDS}?view=clauses",
        "/odds/triple-dice/mat?view=readings",
        "/odds/missing/game",
        "/table/missing",
        "/nowhere",
    ),
    "dealer": ("/", "/deal/walked", "/deal/auto", "/account"),
    "pit-manager": (
        *(f"/pit?view={view}" for view in ("floor", "approvals", "report", "players", "create")),
        "/pit?view=players&player={player}",
        *(
            f"/pit/walked?view={view}"
            for view in ("now", "running", "limits", "decisions", "rounds", "equipment", "dice")
        ),
        "/pit/walked?view=monitor",
        "/pit/walked?view=approvals",
    ),
    "shift-manager": ("/pit/walked?view=decisions",),
    "auditor": ("/pit?view=audit", "/pit/walked?view=now"),
    "administrator": ("/pit?view=people", "/account"),
}
"""The pages of each user; nobody is signed in at the first."""


@pytest.fixture(scope="module")
def walked(house: House) -> House:
    """Return the house with a played round, a decided and a waiting request at one table."""
    house.pass_checks("walked")
    player = house.buy_in("walked")
    house.send("dealer", "walked", "OpenBetting")
    for box in ("big", "total:10"):
        house.send("player", "walked", "PlaceBet", player=player, box=box, amount=500)
    house.deal("walked", (1, 3, 6))
    house.get_until(f"/api/accounts/{player}/statement", lambda lines: len(lines) > 2)
    for amount in (100, 200):
        command = {"round": 1, "player": player, "amount": amount, "reason": "錯付"}
        asked = house.client("supervisor").post(
            "/api/tables/walked/requests",
            json={"command": {"type": "CorrectBet", **command}, "reason": "錯付"},
        )
        assert asked.is_success, asked.text
    request = house.get("/api/requests", "pit-manager")[0]["id"]
    declined = house.client("pit-manager").post(
        f"/api/requests/{request}/decline", json={"note": "已查"}
    )
    assert declined.is_success, declined.text
    return house


@pytest.mark.parametrize("lang", ["zh-Hant", "zh-Hans"])
def test_no_page_has_an_english_sentence(walked: House, new_user: NewUser, lang: str) -> None:
    found = []
    player = walked.account_id("player")
    for user, paths in PAGES.items():
        window = new_user(walked, "desk", lang)
        if user:
            window.sign_in(user)
        tabs = {path: window.context.new_page() for path in paths}
        for path, page in tabs.items():
            page.goto(path.format(player=player))
        for path, page in tabs.items():
            expect(page.locator("h1")).to_have_count(1)
            wait_until_loaded(page)
            sentences = page.evaluate(ENGLISH_SENTENCES, list(NAMES))
            found += [f"{user} {path}: {each}" for each in sentences]

    assert not found, "\n".join(found)


@pytest.mark.parametrize("lang", ["zh-Hant", "zh-Hans"])
def test_statement_explains_a_round_in_chinese(walked: House, new_user: NewUser, lang: str) -> None:
    page = new_user(walked, "desk", lang).sign_in("player", "/account")
    ledger = page.locator("[data-account=walked]")
    ledger.get_by_role("button", name="1").first.click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_test_id("explained-net")).to_contain_text("+25.00")
    dialog.get_by_test_id("chip-by-chip").locator("summary").click()

    call = {"zh-Hant": "1、3、6，共 10 點", "zh-Hans": "1、3、6，共 10 点"}[lang]
    expect(dialog.get_by_role("listitem").filter(has_text=call)).to_have_count(2)
    assert_no_english(page)
