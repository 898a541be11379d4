"""A round as a player lives it: announcements, dice, payment, history, and what goes wrong."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.screens.house import TABLE, House, house_toml
from tests.screens.player_page import PlayerPage, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.screens.browser import Person

    Put = Callable[..., Person]

TABLES = {
    "r1": "sg-rws-tai-sai-v6/a",
    "r2": "sg-rws-tai-sai-v6/a",
    "r3": "sg-rws-tai-sai-v6/a",
    "r4": "sg-rws-tai-sai-v6/a",
    "r5": "sg-rws-tai-sai-v6/a",
    "r6": "sg-rws-tai-sai-v6/a",
    "nz": "nz-tai-sai-2008/1",
    "open": "sg-rws-tai-sai-open-cover-v5/a",
    "triple": "triple-dice/mat",
}
TIMING = "dealt_by_house = { betting_seconds = 6, closing_seconds = 1, showing_seconds = 1 }"
AUTOMATIC = TABLE.format(
    name="auto", game="sg-rws-tai-sai-open-cover-v5/a", mode="refuse", timing=TIMING
)
NARROW = TABLE.format(name="narrow", game="sg-rws-tai-sai-v6/a", mode="refuse", timing="").replace(
    "differential = 1000000", "differential = 5000"
)


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A house of electronic tables, one of them dealt by the house itself."""
    toml = house_toml(TABLES, "refuse") + AUTOMATIC + NARROW
    served = House(tmp_path_factory.mktemp("rounds"), toml)
    yield served
    served.stop()


def test_round_is_announced_lit_and_paid(house: House, person: Put) -> None:
    at = PlayerPage(house, "r1", person)
    alert = at.page.locator('[aria-live="assertive"]')
    phase, call = at.page.get_by_test_id("phase"), at.page.get_by_test_id("call")
    expect(phase).to_contain_text("Between rounds")
    at.open()
    expect(alert).to_have_text("Place your Bets, please")
    at.put("small", "big", "domino:1-4", "single:6")
    at.deal("close-betting", "tumble")
    expect(alert).to_have_text("No more Bets")
    expect(phase).to_contain_text("No more Bets")
    expect(call).to_have_text("The dice have been tumbled and are covered")
    at.deal("uncover", "call-result")
    expect(call).to_have_text("1, 4, 5, total 10")
    at.deal("enter-result", "illuminate")
    for box in ("small", "total:10", "domino:1-4", "domino:4-5", "single:4"):
        expect(at.box(box)).to_have_attribute("aria-label", re.compile(r"\bwins\b"))
    for box in ("big", "total:9", "single:6", "any-triple"):
        expect(at.box(box)).not_to_have_attribute("aria-label", re.compile(r"\bwins\b"))
    at.deal("collect-losers")
    expect(at.box("big")).to_have_attribute("aria-label", re.compile("lost 1.00"))
    at.deal("pay-winners")
    expect(at.box("domino:1-4")).to_have_attribute("aria-label", re.compile("won 7.00"))
    expect(at.page.get_by_test_id("net")).to_contain_text("+5.00")
    expect(at.page.get_by_test_id("net-1")).to_have_text("+5.00")
    at.is_true()
    assert at.seat()["stack"] == 1_000_500


def test_explanation_of_a_round_quotes_the_api(house: House, person: Put) -> None:
    at = PlayerPage(house, "r2", person)
    at.open()
    at.put("small", "big")
    at.finish()
    at.button("Explain my bets in round 1").click()
    dialog = at.page.get_by_role("dialog", name="Your bets in round 1")
    told = house.get("/api/tables/r2/rounds/1/explanation", "player")
    assert [bet["spot"] for bet in told] == ["small", "big"]
    for line in (line for bet in told for line in bet["lines"]):
        expect(dialog.get_by_role("listitem").filter(has_text=line).first).to_be_visible()


def test_notice_of_a_void_round_stays_until_dismissed(house: House, person: Put) -> None:
    at = PlayerPage(house, "r3", person)
    notice = at.page.get_by_test_id("notice")
    at.open()
    at.put("big", "big")
    at.deal("close-betting")
    house.send("dealer", "r3", "Tumble", times=1)
    expect(notice).to_contain_text("Round 1 is void. 2.00 went back to your stack.")
    at.lies(big=0)
    at.page.reload()
    expect(notice).to_contain_text("Round 1 is void")
    expect(notice).to_have_count(1)
    notice.get_by_role("button", name="I have read this").click()
    expect(notice).to_have_count(0)
    at.page.reload()
    expect(at.page.get_by_test_id("history")).to_contain_text("void")
    expect(notice).to_have_count(0)


def test_returning_player_sees_the_notice_of_a_void_round(house: House, person: Put) -> None:
    at = PlayerPage(house, "r4", person)
    at.open()
    at.put("big")
    at.page.goto("/account")
    at.deal("close-betting")
    house.send("dealer", "r4", "Tumble", times=1)
    statement = f"/api/accounts/{at.player}/statement"
    house.wait_for(statement, lambda lines: any(is_void_at(line, "r4") for line in lines), "player")
    at.page.goto("/table/r4")
    expect(at.page.get_by_test_id("notice")).to_contain_text("Round 1 is void")


def is_void_at(line: dict[str, Any], table: str) -> bool:
    return (line["table"], line["what"]) == (table, "void")


def test_player_who_joins_during_a_round_sees_a_notice(house: House, person: Put) -> None:
    house.open_table("r5")
    house.seat("r5", "player2")
    house.send("dealer", "r5", "OpenBetting")
    house.send("dealer", "r5", "CloseBetting")
    at = PlayerPage(house, "r5", person)
    phase = at.page.get_by_test_id("phase")
    expect(phase).to_contain_text("You came in the middle of this round")
    at.finish()
    expect(phase).to_contain_text("Between rounds")
    house.send("supervisor", "r5", "CloseTable")
    expect(phase).to_contain_text("This table is closed")
    expect(at.act("Double")).to_be_disabled()


def test_dice_tumbled_before_betting_are_shown_as_covered(house: House, person: Put) -> None:
    at = PlayerPage(house, "nz", person)
    at.deal("tumble")
    at.open()
    call = at.page.get_by_test_id("call")
    expect(call).to_have_text("The dice have been tumbled and are covered")
    at.finish()
    expect(call).to_have_text("1, 4, 5, total 10")


def test_dice_of_an_open_cover_game_are_shown_in_the_tumbler(house: House, person: Put) -> None:
    at = PlayerPage(house, "open", person)
    at.open()
    call = at.page.get_by_test_id("call")
    expect(call).to_have_text("The dice wait in the tumbler")
    at.deal("close-betting", "tumble")
    expect(call).to_have_text("The dice have been tumbled")


def test_shooter_chooses_dice_bets_and_throws(house: House, person: Put) -> None:
    at = PlayerPage(house, "triple", person)
    shooter = at.page.get_by_test_id("shooter")
    expect(shooter).to_contain_text("Nobody has the dice")
    house.send("dealer", "triple", "OfferDice", player=at.player)
    for die in (2, 3, 5):
        at.button(f"Die {die}").click()
    at.button("Take these dice").click()
    expect(at.button("Die 2")).to_have_count(0)
    at.open()
    expect(shooter).to_contain_text("before you throw")
    at.put("shooter", "red")
    expect(at.page.get_by_test_id("shooter-stake")).to_contain_text("1.00")
    at.box("shooter").click(button="right")
    expect(at.refusal).to_have_count(0)
    at.deal("close-betting")
    at.button("Throw the dice").click()
    expect(at.page.get_by_test_id("call")).to_have_text("The dice have been thrown")
    at.deal("call-result", "collect-losers", "pay-winners")
    expect(shooter).to_contain_text("1 of 4 throws won")
    expect(at.box("shooter")).to_have_attribute("aria-label", re.compile("your chips 1.00"))
    expect(at.page.get_by_test_id("staked")).to_have_text(shown(100))
    expect(at.page.get_by_test_id("stack")).to_have_text(shown(at.seat()["stack"]))


def test_automatic_table_counts_down_and_reveals_the_committed_seed(
    house: House, person: Put
) -> None:
    at = PlayerPage(house, "auto", person)
    page = at.page
    view = house.wait_for("/api/tables/auto", lambda view: view["betting_closes"] > 0)
    assert view["betting_closes"] == view["betting_since"] + 6_000_000
    expect(page.get_by_test_id("countdown")).to_have_text(re.compile(r"^\s*[0-6]\s*$"))
    expect(page.get_by_test_id("seal-checked")).to_contain_text("the one that was sealed")
    fairness = page.get_by_test_id("fairness").inner_text()
    number = re.search(r"Seed of round (\d+)", fairness)
    assert number
    told = house.get(f"/api/tables/auto/rounds/{number[1]}")["events"]
    (seed,) = (each["event"]["seed"] for each in told if each["event"]["type"] == "SeedRevealed")
    assert seed in fairness
    assert hashlib.sha256(bytes.fromhex(seed)).hexdigest() in fairness


def test_debt_is_shown_and_repaid(house: House, person: Put) -> None:
    at = PlayerPage(house, "r6", person, amount=10_000)
    ruling = {"player": at.player, "amount": -15_000, "reason": "paid twice by mistake"}
    house.send("shift-manager", "r6", "MakeRuling", **ruling)
    expect(at.page.get_by_test_id("owing")).to_have_text(shown(5_000))
    expect(at.page.get_by_test_id("notice")).to_contain_text("150.00 was taken from you")
    house.seat("r6", amount=20_000)
    at.button("Repay").click()
    expect(at.page.get_by_label("Amount in SGD")).to_have_value("50.00")
    at.page.get_by_role("dialog").get_by_role("button", name="Repay").click()
    expect(at.page.get_by_test_id("owing")).to_have_count(0)
    at.is_true()


def test_chips_over_the_differential_are_returned_at_close(house: House, person: Put) -> None:
    at = PlayerPage(house, "narrow", person)
    at.open()
    at.chip(25).click()
    at.put("big", "big", "big")
    expect(at.page.get_by_test_id("differential-big")).to_contain_text(
        "differ by 50; they differ by 75"
    )
    at.deal("close-betting")
    expect(at.page.get_by_test_id("notice")).to_contain_text(
        "25.00 of yours on Big was over the differential"
    )
    at.lies(big=5_000)
