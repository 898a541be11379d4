"""The dealer's page: a full round of every rulebook, with wrong entry, void and damaged die."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.screens.browser import BrowserUser, assert_soon, close_windows, format_amount
from tests.screens.house import GAMES, House, house_toml
from tests.screens.table_screens import TableScreens, press_next, wait_for_step

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser, Page

TABLES = {
    table: GAMES[table]
    for table in ("sg-a", "open-cover", "nz-1", "macau", "atlantic", "crown", "triple")
}
"""One layout of every rulebook: the steps are the rulebook's, the layouts have their own tests."""

ROLL = (2, 4, 6)
READ_BOXES = "all => all.map((each) => each.dataset.box)"
READ_SPOTS = "all => all.map((each) => each.dataset.spot)"
"""The dice of the settled round; the wrong entry is 2-4-5."""

PLAYER_BOXES = {"crown": "single:crown", "triple": "single:crown"}
"""The box on which the player bets, where it is not Big."""

SHORT_FORM = ("sg-a", "nz-1", "triple")
"""Tables of `make test`: one of each procedure; `make soak` deals the others."""

ABANDONED = {"crown", "triple"}
"""Rulebooks in which no irregularity voids a round; the dealer abandons it."""


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with House(tmp_path_factory.mktemp("dealers"), house_toml(TABLES)) as house:
        yield house


@pytest.fixture(scope="module")
def page_of(browser: Browser, house: House) -> Iterator[Callable[[str], Page]]:
    """Return a function that gives the page of a user, opened once for the module."""
    users: dict[str, BrowserUser] = {}

    def get_page(name: str) -> Page:
        if name not in users:
            users[name] = BrowserUser(browser, house)
            users[name].sign_in(name)
        return users[name].page

    yield get_page
    close_windows(users.values())


@pytest.mark.parametrize(
    "table",
    [pytest.param(name, marks=() if name in SHORT_FORM else pytest.mark.long) for name in TABLES],
)
def test_dealer_player_and_supervisor_complete_a_full_round(
    table: str, house: House, page_of: Callable[[str], Page]
) -> None:
    dealer, supervisor, player = map(page_of, ("dealer", "supervisor", "player"))
    dealer.goto(f"/deal/{table}")
    supervisor.goto(f"/deal/{table}")
    player.goto(f"/table/{table}")
    screens = TableScreens(house, table, dealer, supervisor, player)
    seat_player(screens)
    pass_checks(screens)
    open_betting(screens)
    place_bets(screens)
    proceed_to_call(screens)
    call_and_amend_result(screens)
    settled = settle_round(screens)
    look_at_late_report(screens)
    void_round(screens)
    report_damaged_die(screens, page_of("supervisor2"), settled)


def seat_player(screens: TableScreens) -> None:
    screens.house.buy_in(screens.table)
    expect(screens.dealer.locator("[data-player]")).to_have_count(1)
    screens.assert_in_sync()


def pass_checks(screens: TableScreens) -> None:
    """Pass the opening checks as the supervisor; the dealer may not."""
    for check in screens.view()["checks_missing"]:
        expect(screens.dealer.get_by_test_id("checks")).to_contain_text("For: supervisor")
        screens.supervisor.locator(f"[data-check={check}]").click()
        expect(screens.supervisor.locator(f"[data-check={check}]")).to_have_count(0)
    assert not screens.view()["checks_missing"]


def open_betting(screens: TableScreens) -> None:
    """Take the steps up to the opening of betting, with the announcements of the rulebook."""
    steps = screens.game()["conduct"]["procedure"]["steps"]
    while (step := screens.next_step()) != "close-betting":
        if step == "offer-dice":
            screens.dealer.keyboard.press("1")
            expect(screens.dealer.get_by_test_id("wait")).to_contain_text("3 of 5 dice")
        elif step == "choose-dice":
            for die in (1, 3, 5):
                screens.player.get_by_role("button", name=f"Die {die}", exact=True).click()
            screens.player.get_by_test_id("shooter").locator("button.primary").click()
            wait_for_step(screens.dealer, "choose-dice")
        else:
            words = steps[step].get("announces")
            if words:
                expect(screens.dealer.get_by_test_id("say")).to_contain_text(words)
            screens.take_step(step)


def place_bets(screens: TableScreens) -> None:
    """Place bets on the player's page, and more over the API."""
    boxes = [box["id"] for box in screens.game()["boxes"]]
    screens.place_chips(PLAYER_BOXES.get(screens.table, "big"), times=2)
    some_boxes = boxes[:: max(5, len(boxes) // 10)]
    stakes = dict.fromkeys(some_boxes, stake_payable_on_every_box(screens))
    if "shooter" in boxes:
        stakes["shooter"] = 500
    player = screens.house.account_id("player")
    for box, amount in stakes.items():
        bet = {"player": player, "box": box, "amount": amount}
        screens.house.send("player", screens.table, "PlaceBet", **bet)
    screens.assert_in_sync()


def stake_payable_on_every_box(screens: TableScreens) -> int:
    """Return a stake that is a multiple of every box's unit."""
    return 100 * max(int(box["unit"]) for box in screens.game()["boxes"])


def proceed_to_call(screens: TableScreens) -> None:
    while (step := screens.next_step()) != "call-result":
        if step == "throw" and screens.view()["shooter"]:
            expect(screens.dealer.get_by_test_id("wait")).to_be_visible()
            screens.player.get_by_test_id("shooter").locator("button.throw").click()
            wait_for_step(screens.dealer, "throw")
        else:
            screens.take_step(step)


def call_and_amend_result(screens: TableScreens) -> None:
    """Enter a wrong result, or call one where results are not entered, and have it amended."""
    conduct = screens.game()["conduct"]
    enters = "enter-result" in conduct["procedure"]["steps"]
    amends = "wrong-entry" in conduct["irregularities"]
    right, wrong = "".join(map(str, ROLL)), "245"
    call_result(screens, right if enters or not amends else wrong)
    if enters:
        assert screens.next_step() == "enter-result"
        screens.press_keys(wrong)
        assert screens.view()["round"]["keys"] == [2, 4, 5]
        screens.dealer.keyboard.press("Enter")
        wait_for_step(screens.dealer, "enter-result")
    if amends:
        amend_result(screens, right)
    assert tuple(screens.view()["round"]["result"]) == ROLL
    screens.assert_in_sync()


def call_result(screens: TableScreens, faces: str) -> None:
    words = screens.game()["calls"][roll_index(faces)]
    screens.press_keys(faces)
    expect(screens.dealer.get_by_test_id("words")).to_have_text(words)
    screens.dealer.keyboard.press("Enter")
    expect(screens.dealer.get_by_test_id("called")).to_contain_text(words)


def roll_index(faces: str) -> int:
    a, b, c = map(int, faces)
    return (a - 1) * 36 + (b - 1) * 6 + c - 1


def amend_result(screens: TableScreens, faces: str) -> None:
    if "illuminate" in screens.game()["conduct"]["procedure"]["steps"]:
        expect(screens.dealer.get_by_test_id("next")).to_be_disabled()
    screens.dealer.keyboard.press("a")
    dialog = screens.dealer.get_by_role("dialog")
    for face in faces:
        dialog.get_by_test_id("picked").wait_for()
        screens.dealer.keyboard.press(face)
    expect(dialog.get_by_test_id("picked")).to_have_attribute("data-faces", faces)
    dialog.get_by_test_id("confirm").click()
    expect(screens.dealer.get_by_test_id("request")).to_contain_text("Waiting for a second person")
    screens.approve(screens.supervisor, "Amend the result to")
    decided = screens.dealer.locator("[data-testid=request][data-state=approved]")
    expect(decided).to_contain_text("Approved")
    decided.get_by_role("button").click()


def settle_round(screens: TableScreens) -> int:
    """Illuminate, collect and pay according to the sheet, and return the number of the round."""
    number: int = screens.view()["round"]["number"]
    if screens.next_step() == "illuminate":
        lit = screens.dealer.get_by_test_id("lit").locator("[data-box]")
        expect(lit).to_have_count(len(screens.sheet()["lit"]))
        assert_soon(screens.dealer, lambda: lit.evaluate_all(READ_BOXES), screens.sheet()["lit"])
        screens.take_step("illuminate")
    sheet = screens.sheet()
    assert sheet["collect"], "the test needs losers"
    assert sheet["pay"], "the test needs winners"
    assert_list(
        screens,
        "collect",
        [(each["spot"], format_amount(each["amount"])) for each in sheet["collect"]],
    )
    screens.take_step("collect-losers")
    pays = [(each["spot"], format_amount(each["winnings"])) for each in sheet["pay"]]
    assert_list(screens, "pay", pays)
    total = sum(each["winnings"] for each in sheet["pay"])
    expect(screens.dealer.get_by_test_id("next")).to_contain_text(format_amount(total))
    press_next(screens.dealer)
    expect(screens.dealer.get_by_test_id("round")).to_have_text("Between rounds")
    screens.assert_in_sync()
    assert screens.house.round_result(screens.table, number) == ROLL
    return number


def assert_list(screens: TableScreens, name: str, expected: list[tuple[str, str]]) -> None:
    """Assert that a list on the dealer's page has these spots and amounts, in this order."""
    rows = screens.dealer.get_by_test_id(name).locator("li[data-spot]")
    expect(rows.locator(".number")).to_have_text([amount for _, amount in expected])
    spots = [spot for spot, _ in expected]
    assert_soon(screens.dealer, lambda: rows.evaluate_all(READ_SPOTS), spots)


def look_at_late_report(screens: TableScreens) -> None:
    """Open the report of a die that was not flat in a settled round, without sending it."""
    rule = screens.game()["conduct"]["irregularities"]["dice-not-flat"]
    dialog = screens.open_report(screens.dealer, "dice-not-flat")
    if rule.get("found_until", "last-payment") == "last-payment":
        expect(dialog.get_by_test_id("consequence")).to_contain_text("before the last payment")
        expect(dialog.get_by_test_id("too-late")).to_contain_text("too late")
        expect(dialog.get_by_test_id("confirm")).to_be_disabled()
    else:
        expect(dialog.get_by_test_id("consequence")).to_contain_text("payments are then moved back")
        expect(dialog).to_contain_text("A second person has to agree")
        expect(dialog.get_by_test_id("confirm")).to_be_enabled()
    screens.dealer.keyboard.press("Escape")
    expect(dialog).to_have_count(0)


def void_round(screens: TableScreens) -> None:
    """Void the next round by a die that is not flat, or abandon it where that voids nothing."""
    stack = screens.view()["seats"][screens.house.account_id("player")]["stack"]
    open_betting(screens)
    screens.place_chips(PLAYER_BOXES.get(screens.table, "big"))
    if screens.table in ABANDONED:
        screens.dealer.get_by_role("button", name="Table…").click()
        dialog = screens.dealer.get_by_role("dialog")
        dialog.get_by_label("Reason").fill("the dice are lost")
        dialog.get_by_role("button", name="Abandon the round").click()
    else:
        while screens.next_step() != "call-result":
            screens.take_step(screens.next_step())
        dialog = screens.open_report(screens.dealer, "dice-not-flat")
        expect(dialog).to_contain_text("This round is void")
        expect(dialog).to_contain_text("All bets are returned")
        dialog.get_by_test_id("confirm").click()
        screens.approve(screens.supervisor, "Die not flat")  # its dice lie open
    notice = screens.dealer.get_by_test_id("notice")
    expect(notice).to_contain_text("is void")
    view = screens.assert_in_sync()
    assert view["round"] is None
    assert view["seats"][screens.house.account_id("player")]["stack"] == stack
    notice.get_by_role("button").click()
    release_table(screens)


def release_table(screens: TableScreens) -> None:
    """Release the table as the supervisor, if the irregularity has locked it."""
    if not screens.view()["locked"]:
        return
    expect(screens.dealer.get_by_test_id("locked")).to_be_visible()
    screens.supervisor.get_by_test_id("locked").get_by_role("button").click()
    dialog = screens.supervisor.get_by_role("dialog")
    dialog.get_by_label("Reason").fill("seen to")
    dialog.get_by_role("button", name="Release the table").click()
    expect(screens.dealer.get_by_test_id("locked")).to_have_count(0)


def report_damaged_die(screens: TableScreens, approver: Page, settled: int) -> None:
    """Void a settled round by a damaged die: the dealer reports it, a supervisor approves."""
    if "dice-damaged" not in screens.game()["conduct"]["irregularities"]:
        expect(screens.supervisor.locator("[data-irregularity=dice-damaged]")).to_have_count(0)
        return
    player = screens.house.account_id("player")
    bought, before = 100_000, screens.view()["seats"][player]
    dialog = screens.open_report(screens.dealer, "dice-damaged")
    dialog.get_by_label(f"Round {settled}").check()
    dialog.get_by_test_id("confirm").click()
    approver.goto(f"/deal/{screens.table}")
    screens.approve(approver, f"Damaged die: Round {settled}")
    expect(screens.dealer.get_by_test_id("notice")).to_contain_text(f"Round {settled}")
    after = screens.assert_in_sync(screens.dealer, screens.supervisor, approver)["seats"][player]
    assert before["stack"] != bought
    assert after["stack"] == bought
