"""The dealer's page between the steps: limits, chips, bets for players, locks and interruptions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.screens.browser import (
    accessibility_violations,
    box_of,
    is_wider_than_screen,
    wait_until_loaded,
)
from tests.screens.house import House, house_toml
from tests.screens.table_screens import TableScreens, press_next, wait_for_step

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import APIResponse, Page, Route

    from tests.screens.browser import NewUser

GAMES = {
    "sg": "sg-rws-tai-sai-v6/a",
    "small": "sg-rws-tai-sai-v6/a",
    "owing": "sg-rws-tai-sai-v6/a",
    "swept": "sg-rws-tai-sai-v6/a",
    "dice": "triple-dice/mat",
    "open": "sg-rws-tai-sai-open-cover-v5/a",
    **dict.fromkeys(("nz", "asked", "kept", "moved", "called", "dark"), "nz-tai-sai-2008/1"),
}

CONTROLS_NOT_WHOLE = """() => [...document.querySelectorAll(".work > .panel button")]
  .filter((each) => each.checkVisibility()).filter((each) => {
  const at = each.getBoundingClientRect();
  const panel = each.closest(".panel").getBoundingClientRect();
  const seen = document.elementFromPoint(at.x + at.width / 2, at.y + at.height / 2);
  const spills = each.scrollWidth > each.clientWidth || each.scrollHeight > each.clientHeight;
  const cut = at.bottom > Math.min(panel.bottom, innerHeight) || at.right > panel.right;
  return spills || cut || !each.contains(seen);
}).map((each) => each.innerText)"""
"""The buttons of the next step and the terminal that are cut, covered or below the window."""


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with House(tmp_path_factory.mktemp("desks"), house_toml(GAMES)) as house:
        for table in ("nz", "asked", "kept", "moved", "called", "small", "dice"):
            house.pass_checks(table)
        yield house


def open_screens(house: House, new_user: NewUser, table: str) -> TableScreens:
    """Open the pages of a dealer and a supervisor; the player bets over the API."""
    dealer = new_user(house).sign_in("dealer", f"/deal/{table}")
    supervisor = new_user(house).sign_in("supervisor", f"/deal/{table}")
    return TableScreens(house, table, dealer, supervisor, dealer)


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
    expect(screens.dealer.locator("[data-step=enter-result] [title='5.10']")).to_be_visible()

    screens.dealer.keyboard.press("p")
    screens.dealer.get_by_role("button", name="Chip 25.00").click()
    expect(screens.dealer.get_by_role("button", name="Call bet C")).to_have_count(0)
    screens.dealer.locator("[data-area='total:9']").click()

    expect(screens.dealer.locator("[data-player] [data-spot='total:9']")).to_contain_text("25.00")
    assert screens.assert_in_sync()["seats"][player]["bets"]["total:9"] == 2500
    screens.dealer.locator("[data-player] [data-spot='total:9']").click()
    screens.dealer.get_by_role("dialog").get_by_role("button", name="Take back").click()
    expect(screens.dealer.locator("[data-player] [data-spot='total:9']")).to_have_count(0)
    screens.assert_in_sync()


@pytest.mark.clause("nz-tai-sai-2008 4.5")
def test_dealer_records_a_call_bet_by_keyboard_where_the_rules_have_call_bets(
    house: House, new_user: NewUser
) -> None:
    screens = open_screens(house, new_user, "called")
    page = screens.dealer
    player = house.buy_in("called")
    house.deal("called", (1, 2, 3), until="close-betting")
    expect(page.locator("[data-player]")).to_have_count(1)
    page.keyboard.press("p")
    call_bet = page.get_by_role("button", name="Call bet C")
    expect(call_bet).to_have_attribute("aria-pressed", "false")

    for manner, area in (("behalf", "small"), ("call", "big")):
        if manner == "call":
            page.keyboard.press("c")
            expect(call_bet).to_have_attribute("aria-pressed", "true")
        page.locator(f"[data-area='{area}']").press("Enter")
        expect(page.locator(f"[data-player] [data-spot={area}]")).to_be_visible()
        placed = house.get("/api/tables/called/rounds/1")["events"][-1]["event"]
        assert (placed["manner"], placed["player"]) == (manner, player)
        assert placed["by"] == {"id": house.account_id("dealer"), "role": "dealer"}
    assert accessibility_violations(page) == []
    expect(page.get_by_test_id("notice")).to_have_count(0)  # only players' calls are announced
    press_next(page)
    wait_for_step(page, "close-betting")
    expect(call_bet).to_have_count(0)


def test_refused_bet_of_the_dealer_is_one_sentence(house: House, new_user: NewUser) -> None:
    screens = open_screens(house, new_user, "nz")
    house.send("dealer", "nz", "Tumble", times=3)
    house.send("dealer", "nz", "OpenBetting")
    player = house.buy_in("nz", amount=500)
    expect(screens.dealer.locator("[data-player]")).to_have_count(1)
    screens.dealer.keyboard.press("p")
    screens.dealer.get_by_role("button", name="Chip 100.00").click()
    screens.dealer.locator("[data-area='small']").focus()
    places = [screens.dealer.get_by_test_id(each) for each in ("next", "felt", "words")]
    before = [box_of(each) for each in places]

    screens.dealer.keyboard.press("Enter")

    refused = screens.dealer.get_by_role("alert").filter(has_text="100 is more than the 5")
    expect(refused).to_contain_text("in the stack; stake less or buy in.")
    expect(refused).not_to_contain_text("Clause")
    assert [box_of(each) for each in places] == before, "a refusal moves nothing"
    assert screens.assert_in_sync()["seats"][player]["bets"] == {}


def test_dealer_sells_colours_and_cashes_out_chips(house: House, new_user: NewUser) -> None:
    screens = open_screens(house, new_user, "kept")
    page = screens.dealer
    page.get_by_role("button", name="New player").click()
    page.get_by_role("button", name="Guest 1").click()
    page.get_by_label("Amount").fill("250")
    page.get_by_role("button", name="Buy in for cash").click()
    seat = page.locator("[data-player^=guest-1]")
    expect(seat.get_by_test_id("stack")).to_have_text("250.00")
    screens.assert_in_sync()

    seat.get_by_role("button", name="Chips").click()
    page.get_by_role("dialog").get_by_label("Colour").select_option("blue")
    page.get_by_label("Value of a chip").fill("2.50")
    page.get_by_role("button", name="Give a colour").click()
    expect(page.get_by_role("dialog").get_by_role("alert")).to_be_visible()
    page.get_by_label("Value of a chip").fill("5")
    page.get_by_role("button", name="Give a colour").click()
    expect(seat).to_contain_text("blue at 5.00")

    seat.get_by_role("button", name="Chips").click()
    page.get_by_role("button", name="All of the stack").click()
    expect(seat).to_have_count(0)
    screens.assert_in_sync()


@pytest.mark.clause("nz-tai-sai-2008 4.3", "nz-tai-sai-2008 4.9")
def test_supervisor_puts_moved_chips_back_and_rejects_chips_on_the_line_with_another(
    house: House, new_user: NewUser
) -> None:
    supervisor = new_user(house).sign_in("supervisor", "/deal/moved")
    player = house.buy_in("moved")
    house.send("dealer", "moved", "Tumble", times=3)
    house.send("dealer", "moved", "OpenBetting")
    house.send("player", "moved", "PlaceBet", player=player, box="small", amount=10_000)
    house.send("dealer", "moved", "CloseBetting")
    dialog = supervisor.get_by_role("dialog")

    supervisor.locator("[data-player] [data-spot=small]").click()
    dialog.get_by_label("Moved by").select_option("Another patron, without a record")
    dialog.get_by_role("button", name="Put chips back").click()
    supervisor.locator("[data-area=big]").click()
    expect(supervisor.locator("[data-player] [data-spot=big]")).to_contain_text("100.00")

    house.send("dealer", "moved", "Uncover")
    house.send("dealer", "moved", "CallResult", dice=(6, 5, 4))
    wait_for_step(supervisor, "call-result")
    supervisor.locator("[data-player] [data-spot=big]").click()
    dialog.get_by_role("button", name="Touches the line: no bet").click()
    dialog.get_by_label("Reason").fill("half outside")
    dialog.get_by_role("button", name="Ask for approval").first.click()
    expect(dialog).to_contain_text("A second person has to approve it")
    (request,) = house.get("/api/requests?table=moved")
    house.client("pit-manager").post(f"/api/requests/{request['id']}/approve", json={"note": ""})
    expect(supervisor.locator("[data-player] [data-spot=big]")).to_have_count(0)


def amend_result(dealer: Page, faces: str) -> None:
    """Ask a supervisor to amend the result."""
    dealer.keyboard.press("a")
    for face in faces:
        expect(dealer.get_by_test_id("picked")).to_be_visible()
        dealer.keyboard.press(face)
    dealer.get_by_test_id("confirm").click()


def test_declined_or_withdrawn_request_changes_nothing(house: House, new_user: NewUser) -> None:
    screens = open_screens(house, new_user, "nz")
    house.deal("nz", (1, 2, 3), until="enter-result")
    for key in (1, 2, 4):
        house.send("dealer", "nz", "PressKey", key=key)
    house.send("dealer", "nz", "PressEnter")
    wait_for_step(screens.dealer, "enter-result")

    for outcome in ("declined", "withdrawn"):
        amend_result(screens.dealer, "123")
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


def test_request_that_is_shown_before_it_is_acknowledged_is_shown_once(
    house: House, new_user: NewUser
) -> None:
    screens = open_screens(house, new_user, "asked")
    house.deal("asked", (1, 2, 3), until="illuminate")
    wait_for_step(screens.dealer, "enter-result")
    held: list[tuple[Route, APIResponse]] = []
    screens.dealer.route(
        "**/api/tables/asked/requests", lambda route: held.append((route, route.fetch()))
    )
    amend_result(screens.dealer, "124")
    expect(screens.dealer.get_by_test_id("request")).to_have_count(1)

    ((route, response),) = held
    route.fulfill(response=response)

    expect(screens.dealer.get_by_role("dialog")).to_have_count(0)
    expect(screens.dealer.get_by_test_id("request")).to_have_count(1)


@pytest.mark.clause("sg-rws-tai-sai-open-cover-v5 5.10")
def test_dealer_goes_on_by_the_dice_without_an_entry_and_after_a_wrong_one(
    house: House, new_user: NewUser
) -> None:
    screens = open_screens(house, new_user, "open")
    player = house.buy_in("open")
    for wrong_entry in ("", "124"):
        house.send("dealer", "open", "OpenBetting")
        house.send("player", "open", "PlaceBet", player=player, box="big", amount=10_000)
        house.send("player", "open", "PlaceBet", player=player, box="small", amount=5_000)
        house.deal("open", (6, 5, 4), until="enter-result")
        wait_for_step(screens.dealer, "call-result")
        if wrong_entry:
            screens.dealer.keyboard.press("d")
            screens.press_keys(wrong_entry)
            screens.dealer.keyboard.press("Enter")
            wait_for_step(screens.dealer, "enter-result")
            expect(screens.dealer.get_by_text("Called and entered differ")).to_be_visible()
        screens.dealer.get_by_test_id("by-the-dice").click()
        expect(screens.dealer.get_by_test_id("next")).to_contain_text("Collect losers 50.00")
        expect(screens.dealer.locator("[data-step=illuminate]")).to_have_attribute(
            "data-standing", "left-out"
        )
        press_next(screens.dealer)
        expect(screens.dealer.get_by_role("button", name="Pay winners")).to_be_enabled()
        screens.dealer.keyboard.press("n")
        expect(screens.dealer.get_by_test_id("round")).to_have_text("Between rounds")
    assert screens.assert_in_sync()["seats"][player]["stack"] == 110_000


@pytest.mark.clause("nz-tai-sai-2008 7.3")
def test_dealer_goes_on_by_the_dice_after_a_power_failure(house: House, new_user: NewUser) -> None:
    screens = open_screens(house, new_user, "dark")
    house.pass_checks("dark")
    player = house.buy_in("dark")
    house.deal("dark", (6, 5, 4), until="close-betting")
    house.send("player", "dark", "PlaceBet", player=player, box="big", amount=10_000)
    house.deal("dark", (6, 5, 4), until="enter-result")
    wait_for_step(screens.dealer, "call-result")
    expect(screens.dealer.get_by_test_id("by-the-dice")).to_have_count(0)

    house.send("dealer", "dark", "Report", irregularity="interruption", note="power failure")
    screens.dealer.get_by_test_id("by-the-dice").click()
    expect(screens.dealer.get_by_role("button", name="Collect losers")).to_be_enabled()
    screens.dealer.keyboard.press("n")
    expect(screens.dealer.get_by_role("button", name="Pay winners")).to_be_enabled()
    screens.dealer.keyboard.press("n")

    expect(screens.dealer.get_by_test_id("round")).to_have_text("Between rounds")
    assert screens.assert_in_sync()["seats"][player]["stack"] == 110_000


def test_interruption_is_not_confirmed_between_rounds(house: House, new_user: NewUser) -> None:
    page = new_user(house).sign_in("dealer", "/deal/kept")
    expect(page.get_by_test_id("currency")).to_have_text("All in SGD")
    page.locator("[data-irregularity=interruption]").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_test_id("too-late")).to_have_text(
        "No round is being played, so none is interrupted."
    )
    expect(dialog.get_by_test_id("confirm")).to_be_disabled()
    expect(dialog.get_by_role("group")).to_have_count(0)


@pytest.mark.clause("sg-rws-tai-sai-v6 5.4.2")
def test_dealer_asks_for_approval_to_abandon_a_round_whose_dice_lie_open(
    house: House, new_user: NewUser
) -> None:
    screens = open_screens(house, new_user, "swept")
    house.deal("swept", (6, 5, 4), until="call-result")
    wait_for_step(screens.dealer, "uncover")
    screens.dealer.get_by_role("button", name="Table…").click()
    dialog = screens.dealer.get_by_role("dialog")
    dialog.get_by_label("Reason").fill("a sleeve swept the dice away")
    dialog.get_by_role("button", name="Abandon the round").click()
    expect(dialog.get_by_role("alert")).to_be_visible()
    dialog.get_by_role("button", name="Ask for approval").first.click()
    expect(dialog.get_by_role("status")).to_contain_text("✓")
    request = screens.supervisor.get_by_test_id("request")
    expect(request).to_contain_text("Abandon the round")
    expect(request).to_contain_text("a sleeve swept the dice away")

    request.get_by_role("button", name="Approve").click()

    expect(screens.supervisor.get_by_test_id("round")).to_have_text("Between rounds")
    assert screens.assert_in_sync()["round"] is None


def controls_not_whole(page: Page) -> list[str]:
    wait_until_loaded(page)
    found: list[str] = page.evaluate(CONTROLS_NOT_WHOLE)
    return found


def test_controls_of_the_next_step_are_whole_in_a_small_window(
    house: House, new_user: NewUser
) -> None:
    page = new_user(house).sign_in("dealer", "/deal/small")
    page.set_viewport_size({"width": 1280, "height": 720})
    player = house.buy_in("small")
    house.deal("small", (4, 5, 6), until="close-betting")
    house.send("player", "small", "PlaceBet", player=player, box="big", amount=10_000)
    house.deal("small", (4, 5, 6), until="enter-result")
    expect(page.get_by_role("button", name="Enter the result")).to_be_enabled()
    assert controls_not_whole(page) == []

    house.take_step("small", "enter-result", (1, 2, 4))
    expect(page.get_by_text("Called and entered differ")).to_contain_text(
        "The dice decide: go on by them, or amend the result."
    )
    expect(page.get_by_role("button", name="Go on by the dice")).to_be_visible()
    assert controls_not_whole(page) == []


def test_tool_that_appears_with_the_result_moves_nothing_on_the_page(
    house: House, new_user: NewUser
) -> None:
    page = new_user(house).sign_in("dealer", "/deal/open")
    house.deal("open", (4, 5, 6), until="call-result")
    expect(page.get_by_role("button", name="Bell")).to_be_visible()
    places = [page.locator(each) for each in (".work", ".left")]
    expect(places[-1]).to_be_visible()
    before = [box_of(each)["y"] for each in places]

    house.deal("open", (4, 5, 6), until="illuminate")

    expect(page.get_by_role("button", name="Amend the result")).to_be_visible()
    assert [box_of(each)["y"] for each in places] == before
    house.deal("open", (4, 5, 6))


def test_offering_the_dice_to_another_player_ends_with_escape_and_with_any_step(
    house: House, new_user: NewUser
) -> None:
    page = new_user(house).sign_in("dealer", "/deal/dice")
    page.set_viewport_size({"width": 1280, "height": 720})
    for player in ("ann", "bob"):
        house.send(
            "dealer", "dice", "BuyIn", player=player, amount=50_000, source="cash", age_years=30
        )
    house.send("dealer", "dice", "OfferDice", player="ann")
    players = page.get_by_role("group", name="To whom the dice are offered")
    dice = page.get_by_role("group", name="Dice that the shooter chose")

    expect(dice).to_be_visible()
    assert controls_not_whole(page) == []
    page.keyboard.press("o")
    expect(players).to_be_visible()
    expect(dice).to_be_hidden()
    assert controls_not_whole(page) == []
    page.keyboard.press("Escape")
    expect(players).to_be_hidden()
    for key in ("1", "3", "5"):
        page.keyboard.press(key)
    expect(page.get_by_test_id("record")).to_be_enabled()
    page.keyboard.press("n")
    wait_for_step(page, "choose-dice")

    press_next(page)
    wait_for_step(page, "open-betting")
    page.keyboard.press("o")
    expect(players).to_be_visible()
    assert controls_not_whole(page) == []
    house.send(
        "dealer", "dice", "PlaceBet", player="ann", box="shooter", amount=1000, manner="behalf"
    )
    expect(page.get_by_test_id("shooter-bet")).to_have_count(0)
    press_next(page)
    wait_for_step(page, "close-betting")
    expect(players).to_be_hidden()
    page.keyboard.press("2")
    assert house.get("/api/tables/dice")["shooter"]["player"] == "ann"


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
    refused = screens.dealer.get_by_role("alert").filter(has_text="No further spin starts")
    clause = refused.get_by_text("no new game starts until it is repaired")
    expect(clause).to_be_hidden()
    refused.locator("summary").filter(has_text="7.4").press("Enter")
    expect(clause).to_be_visible()
    screens.supervisor.get_by_test_id("locked").get_by_role("button").click()
    dialog = screens.supervisor.get_by_role("dialog")
    dialog.get_by_label("Reason").fill("the lamps are switched off")
    dialog.get_by_label("Under a substitute procedure").check()
    dialog.get_by_role("button", name="Release the table").click()
    expect(screens.dealer.get_by_test_id("locked")).to_have_count(0)
    assert not screens.view()["locked"]


def test_refused_cash_out_of_a_debtor_names_seat_and_amounts_and_offers_approval(
    house: House, new_user: NewUser
) -> None:
    page = new_user(house).sign_in("dealer", "/deal/owing")
    player = house.buy_in("owing", amount=5_000)
    ruling = {"player": player, "amount": -10_000, "reason": "paid twice by mistake"}
    house.send("shift-manager", "owing", "MakeRuling", **ruling)
    house.buy_in("owing", amount=20_000)
    chips = page.get_by_role("button", name="Chips: Seat 1")
    expect(page.get_by_test_id("stack")).to_have_text("200.00")
    chips.press("Enter")
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="All of the stack").click()

    expect(dialog.get_by_role("alert")).to_contain_text(
        "Seat 1 · player owes 50; only 150 may leave"
    )
    dialog.get_by_label("Reason").fill("their taxi waits")
    dialog.get_by_role("button", name="Ask for approval").first.click()
    expect(dialog.get_by_role("status")).to_contain_text("Asked for")
    page.keyboard.press("Escape")
    expect(chips).to_be_focused()
    expect(page.get_by_test_id("request")).to_contain_text("Cash out Seat 1 · player: 200.00")


def test_supervisor_closes_and_reopens_the_table(house: House, new_user: NewUser) -> None:
    screens = open_screens(house, new_user, "kept")
    screens.supervisor.get_by_role("button", name="Table…").click()
    screens.supervisor.get_by_role("button", name="Close the table").click()

    expect(screens.dealer.get_by_test_id("closed")).to_contain_text("Opened by: supervisor")
    screens.supervisor.get_by_label("Float").fill("10000000")
    screens.supervisor.keyboard.press("Enter")

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
