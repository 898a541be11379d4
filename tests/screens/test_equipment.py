"""Equipment on the dealer's page: opening checks that fail, the test mode, faults and releases."""

from __future__ import annotations

from itertools import combinations_with_replacement
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.screens.house import House, house_toml
from tests.screens.test_accessibility import defects_at_every_size
from threedice import load

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Locator, Page

    from tests.screens.browser import NewUser

NZ = "nz-tai-sai-2008/1"
DOUBLE_ENDED = "sg-rws-tai-sai-v6/e"
GAMES = {"e": DOUBLE_ENDED, **dict.fromkeys(("dark", "sealed", "faulty", "shown"), NZ)}
RESULTS = [*combinations_with_replacement(range(1, 7), 3)]


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with House(tmp_path_factory.mktemp("equipment"), house_toml(GAMES)) as house:
        register(house, "shown", l1="lights", t1="terminal", u1="tumbler")
        failed = {"check": "tumbler", "piece": "u1", "reason": "it sticks"}
        house.send("supervisor", "shown", "FailCheck", **failed)
        yield house


def register(house: House, table: str, **pieces: str) -> None:
    """Register pieces by name, each with its kind."""
    for name, kind in pieces.items():
        house.send("supervisor", table, "RegisterPiece", piece=name, kind=kind)


def start_test(page: Page) -> None:
    expect(page.get_by_role("button", name="Test mode").first).to_be_enabled()
    page.keyboard.press("t")
    expect(page.get_by_test_id("test-mode")).to_contain_text("nothing is posted")


def enter(page: Page, keys: str, *marks: str) -> None:
    """Enter a result in test mode by keyboard, marking lamps that are dark or stray."""
    for key in keys:
        page.keyboard.press(key)
    expect(page.get_by_test_id("echo")).to_have_attribute("data-echo", keys)
    for lamp in marks:
        page.locator(f"[data-area='{lamp}']").press("Enter")
    expect(page.get_by_test_id("send-trial")).to_be_enabled()
    page.keyboard.press("n")
    expect(page.get_by_test_id("trial")).to_contain_text("-".join(keys))


def check(page: Page, name: str) -> Locator:
    return page.locator(f"[data-of={name}]")


def test_dark_and_stray_lamps_of_the_double_ended_layout_are_named_and_stop_the_round(
    house: House, new_user: NewUser
) -> None:
    register(house, "e", lights="lights")
    page = new_user(house).sign_in("dealer", "/deal/e")
    start_test(page)
    findings = page.get_by_test_id("findings")
    expect(findings).to_contain_text("(145 / 145)")

    enter(page, "126", "total:9@left", "big@right")

    expect(page.get_by_test_id("trial")).to_have_text("1-2-6: 2 faults")
    expect(findings).to_contain_text("Dark lamps Total 9 (left)Stray lamps Big (right)")
    expect(page.locator("[data-lit]")).to_have_count(0)
    page.keyboard.press("t")
    note = page.get_by_test_id("faulty")
    expect(note).to_contain_text("Dark lamps: Total 9 (left)")
    expect(page.get_by_test_id("next")).to_be_disabled()
    expect(page.get_by_test_id("held")).to_contain_text("No round starts while a lamp is dark")
    start_test(page)
    enter(page, "126")
    expect(page.get_by_test_id("trial")).to_have_text("1-2-6: all correct")
    page.keyboard.press("t")
    expect(page.get_by_test_id("next")).to_be_enabled()
    expect(note).to_have_count(0)
    assert house.get("/api/tables/e")["rounds"] == 0


def test_planted_dark_lamp_blocks_the_first_round_until_it_is_seen_lit(
    house: House, new_user: NewUser
) -> None:
    game, lamp = load(NZ), "domino:5-6"
    register(house, "dark", l1="lights")
    for name in ("power", "tumbler", "seal"):
        house.send("supervisor", "dark", "PassCheck", check=name)
    page = new_user(house).sign_in("supervisor", "/deal/dark")
    in_order = page.locator("[data-check=test-runs]")
    expect(check(page, "test-runs")).to_contain_text("50 lamps have not been seen lit yet")
    expect(in_order).to_be_disabled()

    start_test(page)
    for roll in RESULTS[:-2]:  # the walk goes on where the tests of another terminal end
        lit = sorted({*game.winning(roll)} - {lamp})
        house.send("supervisor", "dark", "EnterTrial", keys=roll, lit=lit)
    expect(page.get_by_test_id("progress")).to_contain_text("54 of 56")
    page.keyboard.press("w")
    echo = page.get_by_test_id("echo")
    expect(echo).to_have_attribute("data-echo", "566")
    page.locator(f"[data-area='{lamp}']").click()
    expect(page.get_by_test_id("marked")).to_contain_text("Dark lamps")
    page.keyboard.press("n")
    expect(echo).to_have_attribute("data-echo", "666")
    expect(page.get_by_test_id("send-trial")).to_be_enabled()
    page.keyboard.press("n")
    expect(page.get_by_text("All 56 results were tested.")).to_be_visible()
    assert house.get("/api/tables/dark/equipment")["dark"] == [lamp]
    page.keyboard.press("t")

    expect(check(page, "test-runs")).to_contain_text("The last test found a fault.")
    expect(page.get_by_test_id("faulty")).to_contain_text("5-6")
    expect(in_order).to_be_disabled()
    assert house.get("/api/tables/dark")["checks_missing"] == ["test-runs"]
    start_test(page)
    enter(page, "566")
    page.keyboard.press("t")
    expect(in_order).to_be_disabled()  # the lamp was dark in other results, too
    start_test(page)
    for roll in RESULTS[:-2]:
        if lamp in game.winning(roll):
            house.send("supervisor", "dark", "EnterTrial", keys=roll, lit=[*game.winning(roll)])
    page.keyboard.press("t")
    expect(in_order).to_be_enabled()
    page.keyboard.press("n")
    expect(page.get_by_test_id("next")).to_be_enabled()


def test_check_fails_by_keyboard_and_its_piece_is_replaced(house: House, new_user: NewUser) -> None:
    register(house, "sealed", l1="lights")
    house.send("supervisor", "sealed", "RegisterPiece", piece="t1", kind="terminal", seal="s-1")
    page = new_user(house).sign_in("supervisor", "/deal/sealed")
    expect(check(page, "power").get_by_role("button", name="In order")).to_be_enabled()
    page.keyboard.press("f")
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Piece that fails").select_option("t1")
    dialog.get_by_label("Note, or reason for failing").fill("no power")
    page.keyboard.press("Enter")

    expect(check(page, "power")).to_contain_text("Failed: t1 (terminal)")
    expect(check(page, "power")).to_contain_text(
        "released under a substitute procedure (supervisor)"
    )
    dealer = new_user(house).sign_in("dealer", "/deal/sealed")
    dealer.get_by_role("button", name="See to it").click()
    expect(dealer.locator("[data-piece=t1]")).to_contain_text("For: supervisor")

    page.get_by_role("button", name="See to it").click()
    piece = page.locator("[data-piece=t1]")
    expect(piece.get_by_role("button", name="Replace")).to_be_disabled()
    piece.get_by_label("Reason").fill("no power")
    piece.get_by_label("Name of the new piece").fill("t2")
    page.keyboard.press("Enter")
    expect(piece).to_have_count(0)
    page.keyboard.press("Escape")
    expect(check(page, "power").get_by_role("button", name="In order")).to_be_enabled()
    page.keyboard.press("n")
    expect(check(page, "power")).to_have_attribute("data-status", "passed")


def test_seal_is_compared_with_the_register_before_its_check_passes(
    house: House, new_user: NewUser
) -> None:
    dice = [{"serial": f"A{number}", "colour": "red"} for number in (1, 2, 3)]
    house.send("supervisor", "sealed", "RegisterPiece", piece="d1", kind="dice", dice=dice)
    house.send("supervisor", "sealed", "InstallDice", piece="d1", seal="s-9")
    pit = new_user(house).sign_in("supervisor", "/pit/sealed?view=running")
    expect(pit.locator("[data-check=seal]").get_by_label("Seal number seen")).to_be_visible()
    page = new_user(house).sign_in("supervisor", "/deal/sealed")
    row = check(page, "seal")
    expect(row.get_by_role("button", name="In order")).to_be_disabled()
    seal = row.get_by_label("Seal number seen")

    seal.fill("s-8")
    seal.press("Enter")
    expect(page.get_by_role("alert").filter(has_text="s-9")).to_be_visible()
    pit.locator("[data-check=seal]").get_by_label("Seal number seen").fill("s-9")
    pit.keyboard.press("Enter")

    expect(row).to_have_attribute("data-status", "passed")


def test_malfunction_names_its_piece_and_is_released_under_a_substitute_procedure(
    house: House, new_user: NewUser
) -> None:
    house.pass_checks("faulty")
    register(house, "faulty", b1="bell")
    page = new_user(house).sign_in("supervisor", "/deal/faulty")
    page.locator("[data-irregularity=equipment-malfunction]").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Piece").select_option("b1")
    dialog.get_by_test_id("confirm").click()

    expect(page.get_by_test_id("locked")).to_be_visible()
    expect(page.get_by_test_id("faulty")).to_contain_text("b1 (bell) · faulty · Malfunction")
    page.get_by_test_id("locked").get_by_role("button", name="Table…").click()
    expect(page.get_by_test_id("released")).to_contain_text("b1 (bell)")
    dialog.get_by_label("Reason").fill("called by voice")
    dialog.get_by_role("checkbox").check()
    dialog.get_by_role("button", name="Release the table").click()
    expect(page.get_by_test_id("faulty")).to_contain_text("out of use, played without it")

    page.get_by_test_id("faulty").get_by_role("button", name="Equipment…").click()
    dialog.get_by_label("Reason").fill("mended")
    dialog.get_by_role("button", name="Rectified").click()
    expect(dialog).to_contain_text("Everything is in order.")
    page.keyboard.press("Escape")
    expect(page.get_by_test_id("faulty")).to_have_count(0)


@pytest.mark.parametrize(
    ("language", "sizes"),
    [
        ("en", ("desk", "phone")),
        ("zh-Hant", ("phone",)),
        pytest.param("zh-Hans", ("phone",), marks=pytest.mark.long),
    ],
)
def test_equipment_screens_have_no_accessibility_violations(
    language: str, sizes: tuple[str, ...], house: House, new_user: NewUser
) -> None:
    page = new_user(house).sign_in("supervisor", "/deal/shown")
    page.evaluate(f"localStorage.setItem('threedice.language', '{language}')")
    page.reload()
    expect(page.locator("html")).to_have_attribute("lang", language)
    found = {}
    for name, opener in {
        "check": "[data-more=power]",
        "remedy": "[data-of=tumbler] button",
    }.items():
        page.locator(opener).click()
        expect(page.get_by_role("dialog").locator("input").first).to_be_visible()
        found[name] = defects_at_every_size(page, sizes)
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)
    found["checks"] = defects_at_every_size(page, sizes)
    page.keyboard.press("t")
    expect(page.get_by_test_id("test-mode")).to_be_visible()
    for key in "123":
        page.keyboard.press(key)
    page.locator("[data-area=big]").press("Enter")
    expect(page.get_by_test_id("marked")).to_be_visible()
    found["test"] = defects_at_every_size(page, sizes)
    page.keyboard.press("t")
    expect(page.get_by_test_id("test-mode")).to_have_count(0)

    assert {name: defects for name, defects in found.items() if defects} == {}
