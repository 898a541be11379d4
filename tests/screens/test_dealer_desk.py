"""The dealer's desk between the steps: limits, chips, bets for players, and what goes wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.screens.at_table import AtTable
from tests.screens.house import House, house_toml

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Page

    from tests.screens.browser import Person

    Put = Callable[..., Person]

GAMES = {"sg": "sg-rws-tai-sai-v6/a", "nz": "nz-tai-sai-2008/1", "kept": "nz-tai-sai-2008/1"}


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    served = House(tmp_path_factory.mktemp("desks"), house_toml(GAMES))
    for table in ("nz", "kept"):
        served.open_table(table)
    yield served
    served.stop()


def at(house: House, person: Put, table: str) -> AtTable:
    """Bring a dealer and a supervisor to a table; the player bets over the API."""
    dealer = person(house).sign_in("dealer", f"/deal/{table}")
    supervisor = person(house).sign_in("supervisor", f"/deal/{table}")
    return AtTable(house, table, dealer, supervisor, dealer)


def standing(page: Page, step: str, how: str) -> None:
    expect(page.locator(f"[data-step={step}]")).to_have_attribute("data-standing", how)


def test_bet_over_the_maximum_is_flagged_and_its_excess_rejected(house: House, person: Put) -> None:
    here = at(house, person, "sg")
    me = house.seat("sg", amount=1_000_000)
    house.send("dealer", "sg", "OpenBetting")
    house.send("player", "sg", "PlaceBet", player=me, box="big", amount=150_000)

    flag = here.dealer.locator("[data-flag=maximum]")
    expect(flag).to_contain_text("Big over the maximum: 1,500.00, allowed 1,000.00")
    flag.get_by_role("button", name="Reject excess").click()

    expect(flag).to_have_count(0)
    assert here.agrees()["seats"][me]["bets"] == {"big": 100_000}


def test_dealer_places_and_takes_back_a_bet_for_a_player(house: House, person: Put) -> None:
    here = at(house, person, "sg")
    me = house.id("player")
    expect(here.dealer.locator("[data-player]")).to_have_count(1)

    here.dealer.keyboard.press("p")
    here.dealer.get_by_role("button", name="Chip 25.00").click()
    here.dealer.locator("[data-area='total:9']").click()

    expect(here.dealer.locator("[data-player] [data-spot='total:9']")).to_contain_text("25.00")
    assert here.agrees()["seats"][me]["bets"]["total:9"] == 2500
    here.dealer.locator("[data-player] [data-spot='total:9']").click()
    here.dealer.get_by_role("dialog").get_by_role("button", name="Take back").click()
    expect(here.dealer.locator("[data-player] [data-spot='total:9']")).to_have_count(0)
    here.agrees()


def test_refused_bet_of_the_dealer_shows_the_clause(house: House, person: Put) -> None:
    here = at(house, person, "nz")
    house.send("dealer", "nz", "Tumble", times=3)
    house.send("dealer", "nz", "OpenBetting")
    me = house.seat("nz", amount=500)
    expect(here.dealer.locator("[data-player]")).to_have_count(1)
    here.dealer.keyboard.press("p")
    here.dealer.get_by_role("button", name="Chip 100.00").click()

    here.dealer.locator("[data-area='small']").press("Enter")

    expect(here.dealer.get_by_role("alert").filter(has_text="4.1")).to_be_visible()
    assert here.agrees()["seats"][me]["bets"] == {}


def test_dealer_sells_colours_and_cashes_out_chips(house: House, person: Put) -> None:
    here = at(house, person, "kept")
    page = here.dealer
    page.get_by_role("button", name="New player").click()
    page.get_by_label("Player's id").fill("walk-in")
    page.get_by_label("Amount").fill("250")
    page.get_by_role("button", name="Buy in for cash").click()
    seat = page.locator("[data-player='walk-in']")
    expect(seat.get_by_test_id("stack")).to_have_text("250.00")
    here.agrees()

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
    here.agrees()


def test_declined_or_withdrawn_request_changes_nothing(house: House, person: Put) -> None:
    here = at(house, person, "nz")
    for command in ("CloseBetting", "Uncover"):
        house.send("dealer", "nz", command)
    for dice in ((1, 2, 3),):
        house.send("dealer", "nz", "CallResult", dice=dice)
    for key in (1, 2, 4):
        house.send("dealer", "nz", "PressKey", key=key)
    house.send("dealer", "nz", "PressEnter")
    standing(here.dealer, "enter-result", "done")

    for how in ("declined", "taken back"):
        here.dealer.keyboard.press("a")
        for face in "123":
            expect(here.dealer.get_by_test_id("picked")).to_be_visible()
            here.dealer.keyboard.press(face)
        here.dealer.get_by_test_id("confirm").click()
        pending = here.dealer.locator("[data-testid=request][data-state=pending]")
        expect(pending).to_contain_text("Your request")
        if how == "declined":
            here.supervisor.get_by_role("button", name="Decline").click()
            decided = here.dealer.locator("[data-testid=request][data-state=declined]")
            expect(decided).to_contain_text("Declined")
            decided.get_by_role("button").click()
        else:
            pending.get_by_role("button", name="Take back").click()
        expect(here.dealer.get_by_test_id("request")).to_have_count(0)
    assert here.view()["round"]["result"] == [1, 2, 4]


def test_malfunction_locks_the_table_until_a_supervisor_releases_it(
    house: House, person: Put
) -> None:
    here = at(house, person, "kept")

    dialog = here.report(here.dealer, "equipment-malfunction")
    expect(dialog).to_contain_text("No further round starts until the table is released")
    dialog.get_by_test_id("confirm").click()

    expect(here.dealer.get_by_test_id("locked")).to_contain_text("Malfunction")
    expect(dialog).to_have_count(0)
    expect(here.dealer.get_by_role("button", name="Tumble the dice")).to_be_enabled()
    here.dealer.keyboard.press("n")
    expect(here.dealer.get_by_role("alert").filter(has_text="7.4")).to_be_visible()
    here.supervisor.get_by_test_id("locked").get_by_role("button").click()
    dialog = here.supervisor.get_by_role("dialog")
    dialog.get_by_label("Reason").fill("the lamp was changed")
    dialog.get_by_role("button", name="Release the table").click()
    expect(here.dealer.get_by_test_id("locked")).to_have_count(0)
    assert not here.view()["locked"]


def test_supervisor_closes_and_reopens_the_table(house: House, person: Put) -> None:
    here = at(house, person, "kept")
    here.supervisor.get_by_role("button", name="Table…").click()
    here.supervisor.get_by_role("button", name="Close the table").click()

    expect(here.dealer.get_by_test_id("closed")).to_contain_text("Opened by: supervisor")
    here.supervisor.get_by_label("Float").fill("50000")
    here.supervisor.get_by_role("button", name="Open the table").click()

    expect(here.dealer.get_by_test_id("checks")).to_be_visible()
    assert here.agrees()["float_amount"] == 5_000_000


def test_interrupted_round_is_resolved_by_two_people(house: House, person: Put) -> None:
    house.seat("sg")
    house.kill()
    house.start()
    here = at(house, person, "sg")
    expect(here.dealer.get_by_test_id("known-dice")).to_contain_text("was interrupted")

    here.dealer.get_by_role("button", name="State what is known").click()
    here.approve(here.supervisor, "Interruption: known dice none")

    expect(here.dealer.get_by_test_id("known-dice")).to_have_count(0)
    expect(here.dealer.get_by_test_id("notice")).to_contain_text("is void")
    assert here.agrees()["round"] is None


def test_player_cannot_use_the_dealer_page(house: House, person: Put) -> None:
    page = person(house).sign_in("player", "/deal/sg")

    expect(page.get_by_text("You do not work at this table")).to_be_visible()
    expect(page.get_by_test_id("next")).to_have_count(0)


def test_locked_session_hides_the_table(house: House, person: Put) -> None:
    someone = person(house)
    page = someone.sign_in("supervisor2", "/deal/sg")
    expect(page.get_by_test_id("round")).to_be_visible()

    origin = {"Origin": house.url}
    assert someone.context.request.post("/api/session/lock", headers=origin).ok

    expect(page.get_by_test_id("round")).to_have_count(0)


def test_dealer_completes_a_round_on_a_phone(house: House, person: Put) -> None:
    page = person(house, "phone").sign_in("dealer", "/deal/sg")
    expect(page.get_by_test_id("next")).to_be_enabled()

    for step in ("open-betting", "close-betting", "tumble", "uncover"):
        page.get_by_test_id("next").tap()
        standing(page, step, "done")
    for step in ("call-result", "enter-result"):
        for i, face in enumerate((6, 6, 1), 1):
            page.get_by_role("button", name=f"Key {face}").tap()
            expect(page.get_by_test_id("echo")).to_have_attribute("data-echo", "661"[:i])
        page.get_by_role("button", name="Enter ⏎", exact=True).tap()
        standing(page, step, "done")
    wider = page.evaluate("document.documentElement.scrollWidth > innerWidth")
    assert not wider
