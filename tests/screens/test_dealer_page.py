"""The dealer's page between the steps: limits, chips, bets for players, locks and interruptions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.screens.browser import is_wider_than_screen
from tests.screens.house import House, house_toml
from tests.screens.table_screens import TableScreens

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page

    from tests.screens.browser import NewUser

GAMES = {"sg": "sg-rws-tai-sai-v6/a", "nz": "nz-tai-sai-2008/1", "kept": "nz-tai-sai-2008/1"}


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with House(tmp_path_factory.mktemp("desks"), house_toml(GAMES)) as house:
        for table in ("nz", "kept"):
            house.pass_checks(table)
        yield house


def open_screens(house: House, new_user: NewUser, table: str) -> TableScreens:
    """Open the pages of a dealer and a supervisor; the player bets over the API."""
    dealer = new_user(house).sign_in("dealer", f"/deal/{table}")
    supervisor = new_user(house).sign_in("supervisor", f"/deal/{table}")
    return TableScreens(house, table, dealer, supervisor, dealer)


def wait_for_step(page: Page, step: str) -> None:
    expect(page.locator(f"[data-step={step}]")).to_have_attribute("data-standing", "done")


def test_bet_over_the_maximum_is_flagged_and_its_excess_rejected(
    house: House, new_user: NewUser
) -> None:
    screens = open_screens(house, new_user, "sg")
    player = house.buy_in("sg", amount=1_000_000)
    house.send("dealer", "sg", "OpenBetting")
    house.send("player", "sg", "PlaceBet", player=player, box="big", amount=150_000)

    flag = screens.dealer.locator("[data-flag=maximum]")
    expect(flag).to_contain_text("Big over the maximum: 1,500.00, allowed 1,000.00")
    flag.get_by_role("button", name="Reject excess").click()

    expect(flag).to_have_count(0)
    assert screens.assert_in_sync()["seats"][player]["bets"] == {"big": 100_000}


def test_dealer_places_and_takes_back_a_bet_for_a_player(house: House, new_user: NewUser) -> None:
    screens = open_screens(house, new_user, "sg")
    player = house.account_id("player")
    expect(screens.dealer.locator("[data-player]")).to_have_count(1)

    screens.dealer.keyboard.press("p")
    screens.dealer.get_by_role("button", name="Chip 25.00").click()
    screens.dealer.locator("[data-area='total:9']").click()

    expect(screens.dealer.locator("[data-player] [data-spot='total:9']")).to_contain_text("25.00")
    assert screens.assert_in_sync()["seats"][player]["bets"]["total:9"] == 2500
    screens.dealer.locator("[data-player] [data-spot='total:9']").click()
    screens.dealer.get_by_role("dialog").get_by_role("button", name="Take back").click()
    expect(screens.dealer.locator("[data-player] [data-spot='total:9']")).to_have_count(0)
    screens.assert_in_sync()


def test_refused_bet_of_the_dealer_shows_the_clause(house: House, new_user: NewUser) -> None:
    screens = open_screens(house, new_user, "nz")
    house.send("dealer", "nz", "Tumble", times=3)
    house.send("dealer", "nz", "OpenBetting")
    player = house.buy_in("nz", amount=500)
    expect(screens.dealer.locator("[data-player]")).to_have_count(1)
    screens.dealer.keyboard.press("p")
    screens.dealer.get_by_role("button", name="Chip 100.00").click()

    screens.dealer.locator("[data-area='small']").press("Enter")

    expect(screens.dealer.get_by_role("alert").filter(has_text="4.1")).to_be_visible()
    assert screens.assert_in_sync()["seats"][player]["bets"] == {}


def test_dealer_sells_colours_and_cashes_out_chips(house: House, new_user: NewUser) -> None:
    screens = open_screens(house, new_user, "kept")
    page = screens.dealer
    page.get_by_role("button", name="New player").click()
    page.get_by_label("Player's id").fill("walk-in")
    page.get_by_label("Amount").fill("250")
    page.get_by_role("button", name="Buy in for cash").click()
    seat = page.locator("[data-player='walk-in']")
    expect(seat.get_by_test_id("stack")).to_have_text("250.00")
    screens.assert_in_sync()

    seat.get_by_role("button", name="Chips").click()
    page.get_by_label("Colour").select_option("blue")
    page.get_by_label("Value of a chip").fill("2.50")
    page.get_by_role("button", name="Give a colour").click()
    expect(page.get_by_role("dialog").get_by_role("alert")).to_be_visible()
    page.get_by_label("Value of a chip").fill("5")
    page.get_by_role("button", name="Give a colour").click()
    expect(seat).to_contain_text("blue at 5.00")

    seat.get_by_role("button", name="Chips").click()
    page.get_by_role("button", name="All of the stack").click()
    expect(page.locator("[data-player='walk-in']")).to_have_count(0)
    screens.assert_in_sync()


def test_declined_or_withdrawn_request_changes_nothing(house: House, new_user: NewUser) -> None:
    screens = open_screens(house, new_user, "nz")
    for command in ("CloseBetting", "Uncover"):
        house.send("dealer", "nz", command)
    house.send("dealer", "nz", "CallResult", dice=(1, 2, 3))
    for key in (1, 2, 4):
        house.send("dealer", "nz", "PressKey", key=key)
    house.send("dealer", "nz", "PressEnter")
    wait_for_step(screens.dealer, "enter-result")

    for outcome in ("declined", "withdrawn"):
        screens.dealer.keyboard.press("a")
        for face in "123":
            expect(screens.dealer.get_by_test_id("picked")).to_be_visible()
            screens.dealer.keyboard.press(face)
        screens.dealer.get_by_test_id("confirm").click()
        pending = screens.dealer.locator("[data-testid=request][data-state=pending]")
        expect(pending).to_contain_text("Your request")
        if outcome == "declined":
            screens.supervisor.get_by_role("button", name="Decline").click()
            decided = screens.dealer.locator("[data-testid=request][data-state=declined]")
            expect(decided).to_contain_text("Declined")
            decided.get_by_role("button").click()
        else:
            pending.get_by_role("button", name="Take back").click()
        expect(screens.dealer.get_by_test_id("request")).to_have_count(0)
    assert screens.view()["round"]["result"] == [1, 2, 4]


def test_malfunction_locks_the_table_until_a_supervisor_releases_it(
    house: House, new_user: NewUser
) -> None:
    screens = open_screens(house, new_user, "kept")

    dialog = screens.open_report(screens.dealer, "equipment-malfunction")
    expect(dialog).to_contain_text("No further round starts until the table is released")
    dialog.get_by_test_id("confirm").click()

    expect(screens.dealer.get_by_test_id("locked")).to_contain_text("Malfunction")
    expect(dialog).to_have_count(0)
    expect(screens.dealer.get_by_role("button", name="Tumble the dice")).to_be_enabled()
    screens.dealer.keyboard.press("n")
    expect(screens.dealer.get_by_role("alert").filter(has_text="7.4")).to_be_visible()
    screens.supervisor.get_by_test_id("locked").get_by_role("button").click()
    dialog = screens.supervisor.get_by_role("dialog")
    dialog.get_by_label("Reason").fill("the lamp was changed")
    dialog.get_by_role("button", name="Release the table").click()
    expect(screens.dealer.get_by_test_id("locked")).to_have_count(0)
    assert not screens.view()["locked"]


def test_supervisor_closes_and_reopens_the_table(house: House, new_user: NewUser) -> None:
    screens = open_screens(house, new_user, "kept")
    screens.supervisor.get_by_role("button", name="Table…").click()
    screens.supervisor.get_by_role("button", name="Close the table").click()

    expect(screens.dealer.get_by_test_id("closed")).to_contain_text("Opened by: supervisor")
    screens.supervisor.get_by_label("Float").fill("10000000")
    screens.supervisor.get_by_role("button", name="Open the table").click()

    expect(screens.dealer.get_by_test_id("checks")).to_be_visible()
    assert screens.assert_in_sync()["float_amount"] == 1_000_000_000


def test_interrupted_round_is_resolved_by_two_people(house: House, new_user: NewUser) -> None:
    house.buy_in("sg")
    house.kill()
    house.start()
    screens = open_screens(house, new_user, "sg")
    expect(screens.dealer.get_by_test_id("known-dice")).to_contain_text("was interrupted")

    screens.dealer.get_by_role("button", name="State what is known").click()
    screens.approve(screens.supervisor, "Interruption: known dice none")

    expect(screens.dealer.get_by_test_id("known-dice")).to_have_count(0)
    expect(screens.dealer.get_by_test_id("notice")).to_contain_text("is void")
    assert screens.assert_in_sync()["round"] is None


def test_player_cannot_use_the_dealer_page(house: House, new_user: NewUser) -> None:
    page = new_user(house).sign_in("player", "/deal/sg")

    expect(page.get_by_text("You do not work at this table")).to_be_visible()
    expect(page.get_by_test_id("next")).to_have_count(0)


def test_locked_session_hides_the_table(house: House, new_user: NewUser) -> None:
    user = new_user(house)
    page = user.sign_in("supervisor2", "/deal/sg")
    expect(page.get_by_test_id("round")).to_be_visible()

    origin = {"Origin": house.url}
    assert user.context.request.post("/api/session/lock", headers=origin).ok

    expect(page.get_by_test_id("round")).to_have_count(0)


def test_dealer_completes_a_round_on_a_phone(house: House, new_user: NewUser) -> None:
    page = new_user(house, "phone").sign_in("dealer", "/deal/sg")
    expect(page.get_by_test_id("next")).to_be_enabled()

    for step in ("open-betting", "close-betting", "tumble", "uncover"):
        page.get_by_test_id("next").tap()
        wait_for_step(page, step)
    for step in ("call-result", "enter-result"):
        for i, face in enumerate((6, 6, 1), 1):
            page.get_by_role("button", name=f"Key {face}").tap()
            expect(page.get_by_test_id("echo")).to_have_attribute("data-echo", "661"[:i])
        page.get_by_role("button", name="Enter ⏎", exact=True).tap()
        wait_for_step(page, step)
    assert not is_wider_than_screen(page)
