"""Chips by denomination: counted racks, slips with two signatures, payments in chips."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.screens.browser import (
    accessibility_violations,
    box_of,
    format_amount,
    is_wider_than_screen,
    type_counts,
    wait_until_loaded,
)
from tests.screens.house import House, house_toml
from tests.screens.network import HeldRequests

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Locator, Page

    from tests.screens.browser import NewUser

CHIP_TABLES = (
    "opened", "filled", "paid", "missing", "closed", "dropped", "asked", "mixed", "reported",
    "colour", "both",
)  # fmt: skip
GAMES = dict.fromkeys(CHIP_TABLES, "nz-tai-sai-2008/1") | {"amounts": "sg-rws-tai-sai-v6/a"}
"""A table for each test; one of them deals in amounts."""

RACK = {"10000": 200, "2500": 400, "500": 400, "100": 1_000, "red": 100}
PLANNED_TABLE = """
[tables.{name}]
game = "nz-tai-sai-2008/1"
mode = "record"
chips = [100, 500, 2500, 10000]
rack = {{ 10000 = 200, 2500 = 400, 500 = 400, 100 = 1000, red = 100 }}
[tables.{name}.limits]
minimum = 200
maximum = 50000
differential = 500000
only = {{ triple = [100, 20000] }}
"""
PLANNED_TABLES = ("planned", "planned-pit", "planned-late")
RACK_VALUE = 200 * 10_000 + 400 * 2_500 + 400 * 500 + 1_000 * 100

READ_PAYMENT = """(paying) => ({
  amount: Number(paying.querySelector("[data-amount]").dataset.amount),
  counts: [...paying.querySelectorAll("[data-chip]")]
    .map((each) => [each.dataset.chip, Number(each.dataset.count)]),
})"""


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """Run a house whose tables are closed, except the one that deals in amounts."""
    planned = "".join(PLANNED_TABLE.format(name=name) for name in PLANNED_TABLES)
    with House(tmp_path_factory.mktemp("chips"), house_toml(GAMES) + planned) as house:
        for table in CHIP_TABLES:
            house.send("supervisor", table, "CloseTable")
        yield house


def approve(house: House, at: str, command: str, **fields: Any) -> None:
    """Have one supervisor ask for a command at a table, and another approve it."""
    asked = {"command": {"type": command, **fields}, "reason": "as usual"}
    request = house.client("supervisor").post(f"/api/tables/{at}/requests", json=asked)
    assert request.is_success, request.text
    path = f"/api/requests/{request.json()['id']}/approve"
    answer = house.client("supervisor2").post(path, json={"note": ""})
    assert answer.is_success, answer.text


def open_with_rack(house: House, table: str) -> None:
    """Open a table with a counted rack on the terms that it had, and pass its checks."""
    view = house.get(f"/api/tables/{table}")
    terms = {name: view[name] for name in ("currency", "mode", "chips", "limits")}
    fields = {"table": table, "float_amount": RACK_VALUE, "rack": RACK, **terms}
    approve(house, table, "OpenTable", **fields)
    house.pass_checks(table)


def sign(house: House, new_user: NewUser, text: str) -> None:
    """Approve the only request as the second person, who sees its counts."""
    page = new_user(house).sign_in("supervisor2", "/pit?view=approvals")
    request = page.get_by_test_id("request")
    expect(request).to_contain_text(text)
    expect(request.get_by_test_id("requested-counts")).to_be_visible()
    request.get_by_role("button", name="Approve").click()
    expect(page.get_by_text("Approved and carried out.")).to_be_visible()


def variance_of(page: Page, chip: str) -> Locator:
    return page.get_by_test_id("slip").locator(f"tr[data-chip='{chip}']")


# --- the pit ------------------------------------------------------------------------------------


def test_table_opens_with_a_rack_that_two_people_count(house: House, new_user: NewUser) -> None:
    page = new_user(house).sign_in("supervisor", "/pit/opened?view=running")
    page.get_by_label("chips by denomination").check()
    ask = page.get_by_role("button", name="Ask for approval")
    expect(ask).to_be_disabled()

    type_counts(page, RACK)
    expect(page.get_by_test_id("count-total")).to_have_text(format_amount(RACK_VALUE))
    page.get_by_label("Reason").fill("opening")
    page.keyboard.press("Enter")

    expect(page.get_by_text("A second person has to approve it.")).to_be_visible()
    sign(house, new_user, "Open the table with a counted rack: 33,000.00")
    page.get_by_role("link", name="Chips").first.click()
    page.get_by_text("By denomination, as the log has it").click()
    row = page.get_by_test_id("rack").locator("tr[data-chip='2500']")
    expect(row).to_have_attribute("data-count", "400")
    expect(page.get_by_test_id("rack").locator("tr[data-chip='100']")).to_contain_text("1,000")
    assert house.get("/api/tables/opened/rack")["rack"] == RACK
    expect(page.get_by_test_id("slip-1")).to_contain_text("Opener")
    assert not accessibility_violations(page)


def test_table_of_the_house_file_opens_with_a_count_that_is_compared_with_its_rack(
    house: House, new_user: NewUser
) -> None:
    page = new_user(house).sign_in("supervisor", "/pit/planned-pit?view=running")
    expect(page.get_by_label("chips by denomination")).to_be_checked()
    expect(page.get_by_label("Denominations")).to_have_value("1 5 25 100")
    expect(page.get_by_label("Maximum: Big")).to_have_value("500")
    expect(page.get_by_label("Maximum: Triple")).to_have_value("200")
    expect(page.locator("[name=count-2500]")).to_have_value("")  # a count is blind
    type_counts(page, RACK | {"2500": 399})
    page.get_by_label("Reason").fill("the first day")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status").filter(has_text="Asked for.")).to_be_in_viewport()
    expect(page.get_by_role("button", name="Waiting for a second person")).to_be_disabled()
    sign(house, new_user, "Open the table with a counted rack: 32,975.00")
    expect(page.get_by_role("heading", name="Opening checklist")).to_be_visible()
    page.goto("/pit/planned-pit?view=chips&slip=1")
    expect(variance_of(page, "2500")).to_have_attribute("data-variance", "-1")
    assert house.get("/api/tables/planned-pit")["limits"]["families"]["big"]["maximum"] == 50_000


def test_dealer_page_opens_a_table_with_the_exceptions_of_the_house_file(
    house: House, new_user: NewUser
) -> None:
    planned = house.get("/api/tables/planned/rack")["planned"]
    page = new_user(house).sign_in("supervisor", "/deal/planned")
    expect(page.get_by_label("chips by denomination")).to_be_checked()
    expect(page.get_by_label("Denominations")).to_have_value("1 5 25 100")
    expect(page.locator("[name=minimum]")).to_have_value("1")
    expect(page.locator("[name=maximum]")).to_have_value("500")
    type_counts(page, RACK)
    page.get_by_label("Reason").fill("the first day")
    page.keyboard.press("Enter")
    sign(house, new_user, "Open the table with a counted rack: 33,000.00")
    limits = house.get("/api/tables/planned")["limits"]
    assert limits == planned["limits"]
    assert limits["families"]["triple"] == {"minimum": 100, "maximum": 20_000}


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/deal/planned-late", "Closed"),
        ("/pit/planned-late?view=running", "Open the table"),
    ],
)
def test_form_that_opens_a_table_waits_for_the_terms_of_the_house_file(
    path: str, shown: str, house: House, new_user: NewUser
) -> None:
    page = new_user(house).sign_in("supervisor", "/")
    rack = HeldRequests(page, "**/api/tables/planned-late/rack")
    page.goto(path)
    rack.wait()
    expect(page.get_by_text(shown, exact=True)).to_be_visible()
    expect(page.get_by_text("One moment…")).to_be_visible()
    expect(page.get_by_label("Denominations")).to_have_count(0)
    rack.release()
    expect(page.get_by_label("Denominations")).to_have_value("1 5 25 100")


def test_fill_has_two_signatures_and_a_numbered_slip(house: House, new_user: NewUser) -> None:
    open_with_rack(house, "filled")
    page = new_user(house).sign_in("supervisor", "/pit/filled?view=chips")
    page.get_by_role("button", name="Fill").click()
    expect(page.get_by_role("heading", name="Fill Filled")).to_be_visible()
    expect(page.locator("[name=count-10000]")).to_be_focused()

    type_counts(page, {"2500": 40, "red": 20})
    page.keyboard.press("Enter")  # nothing is sent without a reason
    expect(page.get_by_role("dialog")).to_be_visible()
    page.get_by_label("Reason").fill("few chips of 25")
    assert not accessibility_violations(page)
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_have_count(0)
    sign(house, new_user, "Fill the float: 1,000.00")

    page.get_by_role("link", name="No. 2 · Fill").click()
    slip = page.get_by_test_id("slip")
    expect(slip).to_contain_text("No. 2")
    expect(slip.locator("tr[data-chip='2500']")).to_have_attribute("data-count", "40")
    expect(slip.locator("tr[data-chip='red']")).to_have_attribute("data-count", "20")
    expect(slip).to_contain_text("supervisor, supervisor")
    expect(slip).to_contain_text("supervisor2, supervisor")
    page.emulate_media(media="print")
    expect(page.get_by_role("button", name="Print")).to_be_hidden()
    expect(slip).to_be_visible()


def test_shift_count_shows_a_missing_chip_at_its_denomination(
    house: House, new_user: NewUser
) -> None:
    open_with_rack(house, "missing")
    page = new_user(house).sign_in("supervisor", "/pit/missing?view=chips")
    page.get_by_role("button", name="Shift count").click()
    expect(page.get_by_test_id("rack")).to_have_count(0)

    type_counts(page, RACK | {"2500": 399})
    page.get_by_label("Reason").fill("end of the shift")
    page.keyboard.press("Enter")
    sign(house, new_user, "Shift count: 32,975.00")

    expect(page.get_by_test_id("over-tolerance")).to_contain_text("-25.00")
    expect(page.get_by_test_id("over-tolerance")).to_contain_text("pit manager")
    page.get_by_role("link", name="Show the slip").click()
    expect(variance_of(page, "2500")).to_have_attribute("data-variance", "-1")
    for chip in ("10000", "500", "100", "red"):
        expect(variance_of(page, chip)).to_have_attribute("data-variance", "0")

    page.goto("/pit?view=report")
    period = page.get_by_test_id("period-missing2")
    expect(period.get_by_test_id("win-by-count")).to_have_text("-25.00")
    expect(period.get_by_test_id("win-by-log")).to_have_text("0.00")
    expect(period.get_by_role("rowheader").first).to_have_text("Missing")
    expect(period.get_by_role("cell").last).to_have_text("−1 × 25")


def test_closer_closes_the_table_and_lists_no_variance(house: House, new_user: NewUser) -> None:
    open_with_rack(house, "closed")
    page = new_user(house).sign_in("supervisor", "/pit/closed?view=chips")
    page.get_by_role("button", name="Count and close").click()
    type_counts(page, RACK)
    page.get_by_label("Reason").fill("end of the day")
    page.keyboard.press("Enter")
    sign(house, new_user, "Close the table; closer: 33,000.00")

    expect(page.get_by_text("The table is closed.")).to_be_visible()
    assert not house.get("/api/tables/closed")["open"]
    page.get_by_role("link", name="Closer").click()
    for chip in RACK:
        expect(variance_of(page, chip)).to_have_attribute("data-variance", "0")


def test_drop_count_compares_the_cash_with_the_log(house: House, new_user: NewUser) -> None:
    open_with_rack(house, "dropped")
    buy_in(house, "dropped", 20_000)
    rack = house.get("/api/tables/dropped/rack")["rack"]
    approve(house, "dropped", "CloseTable", counted=rack)

    page = new_user(house).sign_in("supervisor", "/pit/dropped?view=chips")
    page.get_by_role("button", name="Count the drop").click()
    type_counts(page, {"5000": 3, "1000": 4})
    page.get_by_label("Reason").fill("soft count")
    page.keyboard.press("Enter")
    sign(house, new_user, "Drop count: 190.00")

    expect(page.get_by_role("button", name="Count the drop")).to_have_count(0)
    page.get_by_role("link", name="Drop count").click()
    expect(page.get_by_test_id("drop-variance")).to_have_text("-10.00")


def buy_in(house: House, table: str, amount: int) -> None:
    fields = {"player": house.account_id("player"), "amount": amount, "source": "cash"}
    house.send("dealer", table, "BuyIn", **fields, age_years=40)


def count_short(house: House, table: str, **changes: int) -> None:
    """Open a table and count fewer chips than it has."""
    open_with_rack(house, table)
    counted = RACK | {name.lstrip("_"): number for name, number in changes.items()}
    approve(house, table, "CountRack", counted=counted)


def test_variance_stays_on_every_page_of_a_manager_until_it_is_acknowledged(
    house: House, new_user: NewUser
) -> None:
    count_short(house, "reported", _2500=399, _100=1_002)
    page = new_user(house).sign_in("pit-manager", "/odds")
    badge = page.get_by_test_id("variance-badge")
    expect(badge).to_contain_text("Variances to acknowledge")
    assert not accessibility_violations(page)
    badge.press("Enter")
    notice = page.get_by_test_id("variance").filter(has_text="Reported · No. 2 · Shift count")
    expect(notice).to_contain_text("-23.00")
    expect(notice.locator("[data-chip='2500']")).to_have_text("−1 × 25")
    expect(notice.locator("[data-chip='100']")).to_have_text("+2 × 1")

    button = notice.get_by_role("button", name="Acknowledge: Reported · No. 2")
    button.press("Enter")
    expect(page.get_by_text("Acknowledged.")).to_be_visible()
    expect(notice).to_have_count(0)
    page.goto("/pit/reported?view=chips&slip=2")
    acknowledged = page.get_by_test_id("acknowledged")
    expect(acknowledged).to_contain_text("Acknowledged by pit-manager, pit manager")

    other = new_user(house).sign_in("shift-manager", "/pit?view=variances")
    notice = other.get_by_test_id("variance").filter(has_text="Reported")
    expect(notice).to_be_visible()
    notice.get_by_role("link", name="Show the slip").click()
    expect(variance_of(other, "2500")).to_have_attribute("data-variance", "-1")


def test_header_has_one_line_when_requests_and_variances_wait(
    house: House, new_user: NewUser
) -> None:
    count_short(house, "both", _2500=399)
    command = {"type": "SetLimits", "limits": house.get("/api/tables/both")["limits"]}
    asked = {"command": command, "reason": "a quiet night"}
    request = house.client("supervisor").post("/api/tables/both/requests", json=asked)
    assert request.is_success, request.text
    for size in ("desk", "tablet", "phone"):
        page = new_user(house, size).sign_in("pit-manager", "/odds")
        expect(page.get_by_test_id("variance-badge")).to_be_visible()
        expect(page.get_by_test_id("request-badge")).to_be_visible()
        assert box_of(page.locator("header"))["height"] < 70, size
        assert page.locator("header .name svg").evaluate("svg => svg.clientWidth") == 28
        assert not is_wider_than_screen(page)
    request_path = f"/api/requests/{request.json()['id']}/decline"
    house.client("pit-manager").post(request_path, json={"note": ""}).raise_for_status()


def test_badge_of_variances_goes_with_the_last_one(house: House, new_user: NewUser) -> None:
    page = new_user(house).sign_in("pit-manager", "/pit")
    expect(page.get_by_role("link", name="Floor")).to_be_visible()
    count_short(house, "colour", red=99)
    page.get_by_test_id("variance-badge").click()
    for waiting in range(len(house.get("/api/variances", "pit-manager")), 0, -1):
        expect(page.get_by_test_id("variance")).to_have_count(waiting)
        page.get_by_role("button", name="Acknowledge").first.click()
    expect(page.get_by_text("There is nothing to acknowledge.")).to_be_visible()
    expect(page.get_by_test_id("variance-badge")).to_have_count(0)


@pytest.mark.parametrize(
    ("size", "lang"), [("desk", "en"), ("phone", "zh-Hant"), ("phone", "zh-Hans")]
)
def test_variances_fit_the_screen_and_are_accessible_in_every_language(
    house: House, new_user: NewUser, size: str, lang: str
) -> None:
    if not house.get("/api/variances", "shift-manager"):
        count_short(house, "reported", _2500=399, _100=1_002)
    page = new_user(house, size, lang).sign_in("shift-manager", "/pit?view=variances")
    expect(page.get_by_test_id("variance").first).to_be_visible()
    assert not is_wider_than_screen(page)
    assert not accessibility_violations(page)


def test_refused_fill_names_the_reason_and_keeps_the_count(house: House, new_user: NewUser) -> None:
    open_with_rack(house, "asked")
    page = new_user(house).sign_in("supervisor", "/pit/asked?view=chips")
    page.get_by_role("button", name="Credit").click()
    type_counts(page, {"100": 2_000})
    page.get_by_label("Reason").fill("too many")
    page.keyboard.press("Enter")
    approver = new_user(house).sign_in("supervisor2", "/pit/asked?view=approvals")
    expect(approver.get_by_test_id("effect")).to_contain_text("It would be refused now")

    page.locator("body").press("Escape")
    page.get_by_role("button", name="Fill").click()
    type_counts(page, {"100": 5})
    page.locator("[name=count-500]").fill("five")
    expect(page.get_by_text("Enter whole numbers.")).to_be_visible()
    expect(page.get_by_role("button", name="Ask for approval")).to_be_disabled()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Fill")).to_be_focused()


def test_table_that_deals_in_amounts_shows_no_chips_by_denomination(
    house: House, new_user: NewUser
) -> None:
    page = new_user(house).sign_in("supervisor", "/pit/amounts?view=running")
    expect(page.get_by_role("button", name="Fill from the vault")).to_be_visible()
    expect(page.get_by_role("link", name="Chips", exact=True)).to_have_count(0)

    page.goto("/deal/amounts")
    expect(page.get_by_test_id("float")).to_be_visible()
    expect(page.get_by_test_id("rack")).to_have_count(0)


# --- the dealer ---------------------------------------------------------------------------------


def test_payment_shows_the_chips_of_the_rack_with_a_tick_for_each_winner(
    house: House, new_user: NewUser
) -> None:
    open_with_rack(house, "paid")
    buy_in(house, "paid", 100_000)
    house.deal("paid", (6, 5, 4), until="close-betting")
    bet = {"player": house.account_id("player"), "manner": "behalf"}
    house.send("dealer", "paid", "PlaceBet", **bet, box="big", amount=7_600)
    house.send("dealer", "paid", "PlaceBet", **bet, box="single:4", amount=2_500)
    house.deal("paid", (6, 5, 4), until="pay-winners")

    page = new_user(house).sign_in("dealer", "/deal/paid")

    expect(page.get_by_test_id("rack").locator("[data-chip='10000']")).to_be_visible()
    shown = []
    for paid in (1, 2):
        chips = page.get_by_test_id("paying").locator("[data-chip]")
        expect(chips.first).to_be_visible()
        wait_until_loaded(page)
        paying = page.get_by_test_id("paying").evaluate(READ_PAYMENT)
        counts: dict[str, int] = dict(paying["counts"])
        assert sum(int(chip) * number for chip, number in counts.items()) == paying["amount"]
        shown.append(counts)
        page.keyboard.press("Enter")
        expect(page.locator("[data-ticked]")).to_have_count(paid)
    proposed = house.get("/api/tables/paid/sheet", "dealer")["pay"]
    won = sum(bet["winnings"] for bet in proposed)
    assert sorted(map(str, shown)) == sorted(str(dict(bet["chips"])) for bet in proposed)
    assert not accessibility_violations(page)
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("stack")).to_have_attribute("data-amount", str(100_000 + won))


def test_dealer_buys_in_mixed_chips_and_places_one_of_them(house: House, new_user: NewUser) -> None:
    open_with_rack(house, "mixed")
    buy_in(house, "mixed", 10_000)
    player = house.account_id("player")
    page = new_user(house).sign_in("dealer", "/deal/mixed")
    expect(page.get_by_test_id("rack")).to_be_visible()
    page.keyboard.press("h")
    expect(page.get_by_test_id("stack-chips").locator("[data-chip='10000']")).to_be_visible()
    page.get_by_test_id("mixed").locator("summary").click()
    type_counts(page.get_by_test_id("mixed"), {"500": 3, "100": 5})
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_have_count(0)
    stack = house.get("/api/tables/mixed/rack")["stacks"][player]
    assert stack == {"10000": 1, "500": 3, "100": 5}

    house.deal("mixed", (6, 5, 4), until="close-betting")
    page.locator("[aria-label='Chip 5.00']").click()
    page.locator("[data-area=big]").first.click()
    expect(page.locator("[data-spot=big]")).to_have_attribute("data-amount", "500")
    assert house.get("/api/tables/mixed/rack")["bets"]["big"][player] == [["500", 1]]


@pytest.mark.parametrize("size", ["desk", "phone"])
@pytest.mark.parametrize("lang", ["en", "zh-Hant", "zh-Hans"])
def test_chips_page_fits_its_screen_in_every_language(
    house: House, new_user: NewUser, size: str, lang: str
) -> None:
    if not house.get("/api/tables/opened")["open"]:
        open_with_rack(house, "opened")
    page = new_user(house, size, lang).sign_in("supervisor", "/pit/opened?view=chips")
    page.get_by_test_id("slip-1").wait_for()
    assert not is_wider_than_screen(page)
    page.locator("main button").first.click()
    page.get_by_role("dialog").wait_for()
    assert not is_wider_than_screen(page)
    assert not accessibility_violations(page)
    page.goto("/pit/opened?view=chips&slip=1")
    page.get_by_test_id("slip").wait_for()
    assert not is_wider_than_screen(page)
    assert not accessibility_violations(page)
