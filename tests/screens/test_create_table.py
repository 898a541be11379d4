"""Creating a table in the pit console, from the choice of its rulebook to its first round."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.screens.browser import (
    accessibility_violations,
    format_amount,
    is_wider_than_screen,
    text_of,
    type_counts,
    wait_until_loaded,
)
from tests.screens.house import House, house_toml

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Locator, Page

    from tests.screens.browser import NewUser

FORM = "/pit?view=create"


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    toml = house_toml({"other": "sg-rws-tai-sai-v6/a"})
    with House(tmp_path_factory.mktemp("create"), toml) as house:
        yield house


def fill_in(page: Page, table: str, layout: str) -> None:
    """Choose a layout by its full name and enter the required details."""
    page.get_by_role("radio", name=layout).check()
    page.get_by_label("Name of the table").fill(table)
    page.get_by_label("Reason").fill("the second pit opens")


def fill_all(fields: Locator, text: str) -> None:
    wait_until_loaded(fields.page)
    assert fields.all()
    for each in fields.all():
        each.fill(text)


def alert_of(page: Page) -> Locator:
    """Return the alerts in a page, without those that are only read aloud."""
    return page.get_by_role("main").get_by_role("alert")


def decide(house: House, table: str, decision: str, note: str = "") -> None:
    """Decide on the pending request of a table as a second person."""
    requests: list[Any] = house.get_until(f"/api/requests?table={table}", bool)
    path = f"/api/requests/{requests[0]['id']}/{decision}"
    response = house.client("shift-manager").post(path, json={"note": note})
    assert response.is_success, response.text


def test_pit_manager_creates_a_new_zealand_table_and_a_dealer_deals_its_first_round(
    house: House, new_user: NewUser
) -> None:
    page = new_user(house).sign_in("pit-manager", "/pit")
    page.get_by_role("link", name="New table").click()
    expect(page.get_by_role("radio").first).to_be_focused()
    expect(page.get_by_role("radiogroup").first).to_contain_text("New Zealand · Version 2008")
    fill_in(page, "nz-new", "Tai-Sai (New Zealand), standard layout")
    page.get_by_label("Serial number: Tumbler").fill("T-17")
    page.get_by_label("Set up without: Results display").check()
    for number in (1, 2, 3):
        page.get_by_label(f"Die {number}: serial number").fill(f"D-{number}")
    page.get_by_label("Seal put on at the table").fill("S-1")
    page.get_by_role("combobox", name="Who", exact=True).select_option(label="dealer")
    page.get_by_role("button", name="Add").click()
    page.get_by_label("Reason").press("Enter")

    expect(page.get_by_test_id("step-establish")).to_contain_text("waits for a second person")
    decide(house, "nz-new", "approve")
    expect(page.get_by_text("is set up. It is opened by: supervisor")).to_be_visible()
    page.get_by_role("link", name="To the table").click()
    expect(page.get_by_text("this table is opened by: supervisor")).to_be_visible()

    page = new_user(house).sign_in("supervisor", "/pit/nz-new?view=running")
    page.get_by_label("Denominations").fill("2 10 50")
    fill_all(page.get_by_label("Minimum: "), "4")
    page.get_by_label("Maximum: Big").fill("600")
    page.get_by_label("Float").fill("20000")
    page.get_by_label("Float").press("Enter")
    alert = alert_of(page)
    alert.get_by_label("Reason").fill("the first shift")
    alert.get_by_role("button", name="Ask for approval").click()
    decide(house, "nz-new", "approve")
    expect(page.get_by_test_id("float")).to_have_text("20,000.00")
    view = house.get("/api/tables/nz-new")
    assert (view["chips"], view["float_amount"]) == ([200, 1000, 5000], 2_000_000)
    assert view["limits"]["families"]["big"] == {"minimum": 400, "maximum": 60_000}
    register = house.get("/api/tables/nz-new/equipment")
    assert {each["piece"]: each["serial"] for each in register["pieces"] if each["in_use"]} == {
        "tumbler": "T-17",
        "set-1": "",
    }
    assert register["omitted"] == ["results-display"]
    assigned = house.get("/api/assignments")
    dealer = house.account_id("dealer")
    assert any(each["account"] == dealer and each["table"] == "nz-new" for each in assigned)
    for check in register["checks"]:
        seal = {"seal": "S-1"} if check["seal"] else {}
        house.send("supervisor", "nz-new", "PassCheck", check=check["check"], **seal)
    house.deal("nz-new", (1, 2, 4))
    assert house.round_result("nz-new", 1) == (1, 2, 4)


def test_wrong_amounts_are_explained_in_place_and_nothing_is_sent(
    house: House, new_user: NewUser
) -> None:
    page = new_user(house).sign_in("supervisor", FORM)
    fill_in(page, "other", "Tai-Sai (New Zealand), standard layout")
    expect(page.get_by_text("There is a table other already.")).to_be_visible()
    page.get_by_label("Name of the table").fill("faulty")
    big = page.get_by_label("Maximum: Big")
    for typed, explanation in [
        ("12x", "not an amount above zero"),
        ("1", "The minimum is above the maximum"),
        ("100.50", "must be multiples of 1,"),
    ]:
        big.fill(typed)
        expect(alert_of(page)).to_contain_text(explanation)
    page.get_by_role("button", name="Create the table").click()
    expect(big).to_be_focused()
    expect(big).to_have_accessible_description(text_of(alert_of(page)))
    big.fill("100")
    page.get_by_label("Denominations").fill("1 5 5")
    expect(alert_of(page)).to_contain_text("5 is not above the denomination before it")
    page.get_by_role("button", name="Create the table").click()
    expect(page.get_by_label("Denominations")).to_be_focused()
    assert house.get("/api/requests?table=faulty") == []


def test_declined_terms_can_be_changed_and_asked_for_again_after_a_reload(
    house: House, new_user: NewUser
) -> None:
    page = new_user(house).sign_in("pit-manager", FORM)
    fill_in(page, "resumed", "Tai Sai (Resorts World at Sentosa Pte. Ltd.), layout C")
    page.get_by_role("button", name="Create the table").click()
    expect(page.get_by_test_id("step-establish")).to_contain_text("waits for a second person")
    page.reload()
    decide(house, "resumed", "approve")
    expect(page.get_by_test_id("step-open")).to_contain_text("waits for a second person")

    decide(house, "resumed", "decline", "a float of 50,000 will do")
    expect(alert_of(page)).to_contain_text("declined. Note: a float of 50,000 will do")
    page.get_by_role("button", name="Change the details").click()
    expect(page.get_by_label("Name of the table")).to_be_disabled()
    page.get_by_label("Float").fill("50000")
    page.get_by_role("button", name="Create the table").click()
    expect(page.get_by_test_id("step-open")).to_contain_text("waits for a second person")
    page.get_by_test_id("step-open").get_by_role("button").click()
    expect(alert_of(page)).to_contain_text("The request was withdrawn.")

    other = new_user(house).sign_in("shift-manager", "/pit/resumed?view=running")
    expect(other.get_by_label("Denominations")).to_have_value("1 5 25 100 500 1000")
    expect(other.get_by_label("Float")).to_have_value("100,000")
    page.goto("/pit/resumed?view=running")
    expect(page.get_by_label("Float")).to_have_value("50000")
    page.get_by_role("button", name="Open the table").click()
    alert = alert_of(page)
    alert.get_by_label("Reason").fill("the float is agreed")
    alert.get_by_role("button", name="Ask for approval").click()
    decide(house, "resumed", "approve")
    expect(page.get_by_test_id("float")).to_have_text("50,000.00")


RACK = {"100000": 10, "2500": 400, "100": 500, "red": 60}
RACK_VALUE = 10 * 100_000 + 400 * 2_500 + 500 * 100


def test_table_in_chips_opens_with_the_rack_that_two_people_signed(
    house: House, new_user: NewUser
) -> None:
    page = new_user(house).sign_in("supervisor", FORM)
    fill_in(page, "counted", "Tai-Sai (New Zealand), standard layout")
    expect(page.get_by_label("Float")).to_be_visible()
    page.get_by_role("radio", name="amounts").focus()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("radio", name="chips by denomination")).to_be_checked()
    expect(page.get_by_label("Float")).to_have_count(0)
    create = page.get_by_role("button", name="Create the table")
    expect(create).to_be_disabled()
    type_counts(page, RACK | {"2500": 300})
    expect(page.get_by_test_id("count-total")).to_have_text(format_amount(RACK_VALUE - 250_000))
    page.get_by_label("Reason").press("Enter")
    decide(house, "counted", "approve")
    expect(page.get_by_test_id("step-open")).to_contain_text("waits for a second person")
    decide(house, "counted", "decline", "there are 400 chips of 25")

    page.get_by_role("button", name="Change the details").click()
    expect(page.locator("[name=count-red]")).to_have_value("60")
    type_counts(page, {"2500": 400})
    create.click()
    expect(page.get_by_test_id("step-open")).to_contain_text("waits for a second person")
    decide(house, "counted", "approve")
    expect(page.get_by_text("Counted is open.")).to_be_visible()

    rack = house.get("/api/tables/counted/rack")
    assert (rack["deals_in"], rack["rack"], rack["value"]) == ("chips", RACK, RACK_VALUE)
    (opener,) = house.get("/api/tables/counted/counts")["slips"]
    assert (opener["kind"], opener["approved_by"]["role"]) == ("opener", "shift-manager")


def test_table_that_the_house_deals_has_no_rack(house: House, new_user: NewUser) -> None:
    page = new_user(house).sign_in("pit-manager", FORM)
    fill_in(page, "machine", "Tai Sai (Resorts World at Sentosa Pte. Ltd.), layout C")
    page.get_by_label("chips by denomination").check()
    page.get_by_label("The house, automatically").check()
    expect(page.get_by_label("chips by denomination")).to_have_count(0)
    expect(page.get_by_label("Float")).to_be_visible()
    expect(page.get_by_role("button", name="Create the table")).to_be_enabled()


@pytest.mark.parametrize(
    ("size", "lang", "name"),
    [
        ("desk", "en", "New table"),
        ("phone", "zh-Hant", "新增賭檯"),
        ("phone", "zh-Hans", "新增赌台"),
    ],
)
def test_form_is_accessible_and_fits_the_screen_in_every_language(
    house: House, new_user: NewUser, size: str, lang: str, name: str
) -> None:
    page = new_user(house, size, lang).sign_in("shift-manager", FORM)
    expect(page.get_by_role("link", name=name)).to_be_visible()
    expect(page.locator("input[name=chips]")).to_be_visible()
    page.locator("input[name=chips]").fill("x")
    page.locator("details summary").first.click()
    assert accessibility_violations(page) == []
    page.locator("input[name=chips]").fill("1 5 25")
    page.locator("[name=deals-in]").last.check()
    expect(page.get_by_test_id("count-total")).to_be_visible()
    assert accessibility_violations(page) == []
    assert not is_wider_than_screen(page)


def test_people_who_may_not_create_tables_are_not_offered_it(
    house: House, new_user: NewUser
) -> None:
    page = new_user(house).sign_in("auditor", FORM)
    expect(page.get_by_role("link", name="Floor")).to_be_visible()
    expect(page.get_by_role("link", name="New table")).to_have_count(0)
    expect(page.get_by_role("button", name="Create the table")).to_have_count(0)
