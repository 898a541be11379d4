"""The pit's pages of equipment, of dice and of the dice monitor."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.screens.browser import SIZES, accessibility_violations, is_wider_than_screen
from tests.screens.house import House, house_toml

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.screens.browser import NewUser

GAMES = {
    "dice": "sg-rws-tai-sai-v6/a",
    "pieces": "sg-rws-tai-sai-v6/a",
    "watched": "sg-rws-tai-sai-v6/a",
}
"""A table for each group of tests."""

LOADED_ROUNDS = 6
"""Rounds that all show 1 1 1: enough for the monitor to reach every level."""


AXE_PAGES = (("en", "desk"), ("en", "phone"), ("zh-Hant", "phone"), ("zh-Hans", "phone"))


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with House(tmp_path_factory.mktemp("dice-pages"), house_toml(GAMES)) as house:
        register_dice(house, "watched", "d-1")
        house.send("supervisor", "watched", "InstallDice", piece="d-1", seen="s-1")
        tumbler = {"piece": "t-1", "kind": "tumbler", "serial": "T-9", "seal": "n-1"}
        house.send("supervisor", "watched", "RegisterPiece", **tumbler)
        house.pass_checks("watched")
        for _ in range(LOADED_ROUNDS):
            house.deal("watched", (1, 1, 1))
        yield house


def register_dice(house: House, table: str, name: str) -> None:
    dice = [{"serial": f"{name}-{number}", "colour": "red"} for number in (1, 2, 3)]
    entered = {"piece": name, "kind": "dice", "serial": "S-1041", "seal": "s-1", "dice": dice}
    house.send("supervisor", table, "RegisterPiece", **entered)


def test_piece_is_registered_reported_and_replaced_on_the_equipment_page(
    house: House, new_user: NewUser
) -> None:
    page = new_user(house).sign_in("supervisor", "/pit/pieces?view=equipment")

    page.get_by_label("Kind").first.select_option("lights")
    page.get_by_label("Piece", exact=True).fill("l-1")
    page.get_by_label("Serial number").fill("L-7")
    page.get_by_role("button", name="Register", exact=True).click()
    row = page.get_by_test_id("piece-l-1")
    expect(row).to_contain_text("In order")
    expect(row).to_contain_text("L-7")

    row.get_by_role("button", name="Report a fault of l-1").click()
    page.get_by_role("dialog").get_by_role("button", name="Report a fault").click()
    expect(row).to_contain_text("Faulty")

    row.get_by_role("button", name="Replace l-1").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name of the new piece").fill("l-2")
    dialog.get_by_label("Reason").fill("burnt out")
    dialog.get_by_role("button", name="Replace").click()
    expect(row).to_contain_text("Out of use")
    expect(page.get_by_test_id("piece-l-2")).to_contain_text("In order")

    row.get_by_role("button", name="History of l-1").click()
    expect(page.get_by_role("dialog").get_by_role("listitem")).to_have_count(3)
    expect(page.get_by_role("dialog")).to_contain_text("Replaced by l-2")
    expect(page.get_by_role("dialog")).to_contain_text("supervisor supervisor")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_set_of_dice_lives_from_registration_to_destruction_by_two_people(
    house: House, new_user: NewUser
) -> None:
    page = new_user(house).sign_in("supervisor", "/pit/dice?view=dice")

    page.get_by_label("Name of the set").fill("d-1")
    for number in (1, 2, 3):
        page.get_by_label(f"Serial number of die {number}").fill(f"A-{number}")
    page.get_by_role("button", name="Register", exact=True).click()
    panel = page.get_by_test_id("set-d-1")
    panel.get_by_role("button", name="Install d-1").click()
    page.get_by_role("dialog").get_by_role("button", name="Install").click()
    expect(panel).to_contain_text("Installed")
    house.pass_checks("dice")
    house.deal("dice", (1, 2, 3))

    panel.get_by_role("button", name="Inspect d-1").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Damaged").check()
    dialog.get_by_label("Die 2").check()
    dialog.get_by_role("button", name="Inspect").click()
    expect(panel).to_contain_text("Faulty")
    expect(page.get_by_text("no round can start")).to_be_visible()

    panel.get_by_role("button", name="Affected rounds of d-1").click()
    expect(page.get_by_role("dialog").get_by_label("Round 1")).to_be_checked()
    page.get_by_role("dialog").get_by_role("button", name="Ask for approval").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    panel.get_by_role("button", name="Remove d-1").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    panel.get_by_role("button", name="Destroy d-1").click()
    page.get_by_role("dialog").get_by_label("Reason").fill("a chipped corner")
    page.get_by_role("dialog").get_by_role("button", name="Ask for approval").click()
    expect(page.get_by_text("A second person has to approve it")).to_be_visible()

    manager = new_user(house).sign_in("pit-manager", "/pit/dice?view=approvals")
    for summary in ("Rounds affected: 1", "Destroy the dice d-1"):
        request = manager.get_by_role("listitem").filter(has_text=summary)
        request.get_by_role("button", name="Approve").click()
        expect(request).to_have_count(0)
    expect(panel).to_contain_text("Destroyed")
    results = house.get_until("/api/tables/dice/results", lambda lines: lines[-1]["dice"] is None)
    assert results[-1]["what"] == "reversed"


def test_monitor_draws_the_evidence_and_says_what_to_do(house: House, new_user: NewUser) -> None:
    page = new_user(house).sign_in("auditor", "/pit/watched?view=monitor")

    (report,) = house.get("/api/tables/watched/dice-monitor")["sets"]
    expect(page.get_by_test_id("monitored-set")).to_have_text(
        "d-1, serial number S-1041 (installed)"
    )
    expect(page.get_by_role("img", name="Evidence against fair dice")).to_be_visible()
    expect(page.get_by_test_id("explanation").get_by_role("paragraph")).to_have_count(3)
    expect(page.get_by_test_id("not-shown")).to_contain_text("That the dice are fair")
    for level in report["levels"]:
        cells = page.get_by_test_id(f"alarm-{level['alarm']}").get_by_role("cell")
        expect(cells.nth(1)).to_have_text(str(level["round"]))
    assert all(level["round"] for level in report["levels"])
    expect(page.get_by_test_id("face-1").get_by_role("cell").first).to_have_text(
        str(3 * LOADED_ROUNDS)
    )


@pytest.mark.parametrize("view", ["equipment", "dice", "monitor"])
def test_dice_pages_are_accessible_in_three_languages_and_fit_a_phone(
    view: str, house: House, new_user: NewUser
) -> None:
    page = new_user(house).sign_in("supervisor", f"/pit/watched?view={view}")
    found = {}
    for language, size in AXE_PAGES:
        page.evaluate(f"localStorage.setItem('threedice.language', '{language}')")
        width, height = SIZES[size]
        page.set_viewport_size({"width": width, "height": height})
        page.reload()
        expect(page.locator("html")).to_have_attribute("lang", language)
        expect(page.locator("section.panel").first).to_be_visible()
        found[language, size] = (accessibility_violations(page), is_wider_than_screen(page))

    assert found == dict.fromkeys(AXE_PAGES, ([], False))
