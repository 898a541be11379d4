"""The payment of the winners on the dealer's page, all at once or one area before the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.screens.browser import assert_soon, text_of, wait_until_loaded
from tests.screens.house import House, house_toml
from tests.screens.network import HeldRequests
from tests.screens.table_screens import press_next

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page

    from tests.screens.browser import NewUser

ROLL = (6, 5, 4)
TABLES = dict.fromkeys(("keys", "twice", "whole"), "nz-tai-sai-2008/1") | {
    "void": "sg-rws-tai-sai-v6/a"
}


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with House(tmp_path_factory.mktemp("payments"), house_toml(TABLES)) as house:
        yield house


def play_until_payment(house: House, table: str) -> None:
    """Play a round in which two players win on big and one of them on a single, too."""
    house.pass_checks(table)
    house.deal(table, ROLL, until="close-betting")
    for user, boxes in (("player", ("big", "single:6")), ("player2", ("big",))):
        player = house.buy_in(table, user)
        for box in boxes:
            house.send(user, table, "PlaceBet", player=player, box=box, amount=1_000)
    house.deal(table, ROLL, until="pay-winners")


def paid(house: House, table: str) -> list[str]:
    """Return the areas whose winners have been paid in the round that is played."""
    events: list[Any] = house.get(f"/api/tables/{table}/rounds/1")["events"]
    return [each["event"]["spot"] for each in events if each["event"]["type"] == "AreaPaid"]


def winners(page: Page) -> list[str]:
    lines = page.get_by_test_id("pay").locator("li[data-spot]")
    spots: list[str] = lines.evaluate_all("all => all.map((each) => each.dataset.spot)")
    return spots


def test_area_is_paid_by_its_key_and_the_others_by_the_step(
    house: House, new_user: NewUser
) -> None:
    play_until_payment(house, "keys")
    page = new_user(house).sign_in("dealer", "/deal/keys")
    expect(page.get_by_test_id("pay-area")).to_be_enabled()
    order = winners(page)
    first = order[0]

    page.keyboard.press("f")

    rest = [spot for spot in order if spot != first]
    expect(page.get_by_test_id("pay").locator("li[data-spot]")).to_have_count(len(rest))
    assert_soon(page, lambda: winners(page), rest)
    assert paid(house, "keys") == [first]
    press_next(page)
    expect(page.get_by_test_id("round")).to_have_text("Between rounds")


def test_layout_is_whole_while_the_winners_are_paid(house: House, new_user: NewUser) -> None:
    play_until_payment(house, "whole")
    page = new_user(house).sign_in("dealer", "/deal/whole")
    expect(page.get_by_test_id("pay-area")).to_be_visible()
    expect(page.locator(".layout [data-felt-view]")).to_be_in_viewport(ratio=1)
    lines = page.get_by_test_id("pay").locator("li[data-spot] .name")
    expect(lines).to_have_count(3)
    wait_until_loaded(page)
    assert lines.evaluate_all("all => all.every((each) => each.scrollWidth <= each.clientWidth)")


def test_area_key_waits_until_the_list_has_followed_the_last_payment(
    house: House, new_user: NewUser
) -> None:
    play_until_payment(house, "twice")
    page = new_user(house).sign_in("dealer", "/deal/twice")
    button = page.get_by_test_id("pay-area")
    expect(button).to_be_enabled()
    first, *_ = winners(page)
    float_before = text_of(page.get_by_test_id("float"))
    sheets = HeldRequests(page, "**/api/tables/twice/sheet")

    page.keyboard.press("f")

    sheets.wait()
    expect(page.get_by_test_id("float")).not_to_have_text(float_before)
    expect(page.get_by_role("button", name="Pay winners")).to_be_enabled()
    expect(button).to_be_disabled()
    page.keyboard.press("f")
    sheets.release()
    expect(button).to_be_enabled()
    assert paid(house, "twice") == [first]


def test_no_area_is_paid_while_a_report_has_stopped_the_round(
    house: House, new_user: NewUser
) -> None:
    play_until_payment(house, "void")
    page = new_user(house).sign_in("dealer", "/deal/void")
    expect(page.get_by_test_id("pay-area")).to_be_enabled()
    page.locator("[data-irregularity=dice-not-flat]").click()
    page.get_by_role("dialog").get_by_test_id("confirm").click()
    expect(page.get_by_test_id("held")).to_be_visible()

    expect(page.get_by_test_id("pay-area")).to_have_count(0)
    page.keyboard.press("f")
    page.get_by_test_id("request").get_by_role("button", name="Take back").click()
    expect(page.get_by_test_id("request-void")).to_be_enabled()
    expect(page.get_by_test_id("resume")).to_have_count(0)
    other = new_user(house).sign_in("supervisor", "/deal/void")
    other.get_by_label("Why the round goes on").fill("it lies flat")
    other.get_by_test_id("resume").click()

    expect(page.get_by_test_id("pay-area")).to_be_enabled()
    assert paid(house, "void") == []
