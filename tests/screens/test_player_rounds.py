"""Rounds on the player's page: announcements, dice, payment, history, notices and debts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.screens.browser import PHONE_ON_ITS_SIDE, format_amount
from tests.screens.house import House, house_toml, table_toml
from tests.screens.player_page import PlayerPage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.screens.browser import NewUser

TABLES = {
    "r1": "sg-rws-tai-sai-v6/a",
    "r2": "sg-rws-tai-sai-v6/a",
    "r3": "sg-rws-tai-sai-v6/a",
    "r4": "sg-rws-tai-sai-v6/a",
    "r5": "sg-rws-tai-sai-v6/a",
    "roads": "sg-rws-tai-sai-v6/a",
    "r6": "sg-rws-tai-sai-v6/a",
    "nz": "nz-tai-sai-2008/1",
    "open": "sg-rws-tai-sai-open-cover-v5/a",
    "triple": "triple-dice/mat",
}
BETTING_SECONDS = 600
CLOSING_SECONDS = 100
AUTOMATIC = table_toml("auto", "sg-rws-tai-sai-open-cover-v5/a", "refuse") + (
    f"dealt_by_house = {{ betting_seconds = {BETTING_SECONDS}, "
    f"closing_seconds = {CLOSING_SECONDS}, showing_seconds = 100 }}\n"
)
"""A table whose phases end only when a test moves the clock forward."""

LOW_DIFFERENTIAL = table_toml("narrow", "sg-rws-tai-sai-v6/a", "refuse").replace(
    "differential = 1000000", "differential = 5000"
)


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """Run a house of electronic tables, one of them automatic."""
    toml = house_toml(TABLES, "refuse") + AUTOMATIC + LOW_DIFFERENTIAL
    with House(tmp_path_factory.mktemp("rounds"), toml) as house:
        yield house


def test_round_is_announced_lit_and_paid(house: House, new_user: NewUser) -> None:
    player = PlayerPage(house, "r1", new_user)
    alert = player.page.locator('[aria-live="assertive"]')
    phase, call = player.page.get_by_test_id("phase"), player.page.get_by_test_id("call")
    expect(phase).to_contain_text("Nobody deals here now")
    player.open_betting()
    expect(alert).to_have_text("Place your Bets, please")
    player.place("small", "big", "domino:1-4", "single:6")
    player.deal("close-betting", "tumble")
    expect(alert).to_have_text("No more Bets")
    expect(phase).to_contain_text("No more Bets")
    expect(call).to_have_text("The dice have been tumbled and are covered")
    player.deal("uncover", "call-result")
    expect(call).to_have_text("1, 4, 5, total 10")
    player.deal("enter-result", "illuminate")
    for box in ("small", "total:10", "domino:1-4", "domino:4-5", "single:4"):
        expect(player.box(box)).to_have_attribute("aria-label", re.compile(r"\bwins\b"))
    for box in ("big", "total:9", "single:6", "any-triple"):
        expect(player.box(box)).not_to_have_attribute("aria-label", re.compile(r"\bwins\b"))
    player.deal("collect-losers")
    expect(player.box("big")).to_have_attribute("aria-label", re.compile("lost 1.00"))
    player.deal("pay-winners")
    expect(player.box("domino:1-4")).to_have_attribute("aria-label", re.compile("won 7.00"))
    expect(player.page.get_by_test_id("net")).to_contain_text("+5.00")
    expect(player.page.get_by_test_id("net-1")).to_have_text("+5.00")
    player.assert_in_sync()
    assert player.seat()["stack"] == 1_000_500


def test_explanation_has_a_line_for_each_bet_and_is_told_chip_by_chip_on_demand(
    house: House, new_user: NewUser
) -> None:
    player = PlayerPage(house, "r2", new_user)
    player.open_betting()
    player.place("small", "big", "domino:1-4")
    player.finish_round()
    player.button("Explain my bets in round 1").click()
    dialog = player.page.get_by_role("dialog", name="Your bets in round 1")
    bets = {bet["spot"]: bet for bet in house.get("/api/tables/r2/rounds/1/explanation", "player")}
    assert {spot: bet["net"] for spot, bet in bets.items()} == {
        "small": 100, "big": -100, "domino:1-4": 600
    }  # fmt: skip
    for spot, words in (
        ("small", "Small 1.00 1 to 1 +1.00"),
        ("big", "Big 1.00 – -1.00"),
        ("domino:1-4", "Domino 1-4 1.00 6 to 1 +6.00"),
    ):
        expect(dialog.locator(f"[data-bet='{spot}']")).to_have_text(words_of(words))
    expect(dialog.get_by_test_id("explained-net")).to_have_text(words_of("Net of the round +6.00"))
    line = dialog.get_by_role("listitem").filter(
        has_text="wins when 1 and 4 both appear; on 1, 4, 5, total 10 it won, paid 6 to 1."
    )
    expect(line).to_be_hidden()
    dialog.get_by_text("Chip by chip").press("Enter")
    expect(line).to_be_visible()
    steps = [step for bet in bets.values() for step in bet["steps"]]
    expect(dialog.get_by_role("listitem")).to_have_count(len(steps))


def words_of(text: str) -> re.Pattern[str]:
    """Match these words with any white space between them."""
    return re.compile(r"\s*".join(re.escape(word) for word in text.split()))


def test_last_totals_and_both_roads_are_visible_next_to_the_felt(
    house: House, new_user: NewUser
) -> None:
    for roll in ((1, 4, 5), (2, 2, 2), (6, 6, 5)):
        house.deal("roads", roll)
    player = PlayerPage(house, "roads", new_user)
    page = player.page
    totals = page.get_by_test_id("last-totals").get_by_role("listitem")
    expect(totals).to_have_text(
        [words_of("17 B Big"), words_of("6 T Triple"), words_of("10 S Small")]
    )
    for plate in ("bead plate", "big road"):
        expect(page.get_by_role("img", name=plate)).to_be_in_viewport(ratio=1)
    expect(totals.last).to_be_in_viewport(ratio=1)
    player.open_betting()
    player.deal("close-betting", "tumble", "uncover", "call-result")
    expect(totals.first).to_have_text(words_of("10 S Small"))
    player.deal("enter-result", "illuminate", "collect-losers", "pay-winners")
    expect(page.get_by_test_id("history")).to_contain_text("10")
    expect(totals).to_have_count(4)


def test_notice_of_a_void_round_stays_until_dismissed(house: House, new_user: NewUser) -> None:
    player = PlayerPage(house, "r3", new_user)
    notice = player.page.get_by_test_id("notice")
    player.open_betting()
    player.place("big", "big")
    player.deal("close-betting")
    house.send("dealer", "r3", "Tumble", times=1)
    expect(notice).to_contain_text("Round 1 is void. 2.00 went back to your stack.")
    player.assert_chips(big=0)
    player.page.reload()
    expect(notice).to_contain_text("Round 1 is void")
    expect(notice).to_have_count(1)
    notice.get_by_role("button", name="I have read this").click()
    expect(notice).to_have_count(0)
    player.page.reload()
    expect(player.page.get_by_test_id("history")).to_contain_text("void")
    expect(notice).to_have_count(0)


def test_returning_player_sees_the_cause_and_the_notice_of_a_void_round(
    house: House, new_user: NewUser
) -> None:
    player = PlayerPage(house, "r4", new_user)
    player.open_betting()
    player.place("big")
    player.page.goto("/account")
    player.deal("close-betting")
    house.send("dealer", "r4", "Tumble", times=1)
    statement = f"/api/accounts/{player.account}/statement"
    house.get_until(
        statement, lambda lines: any(is_void_at(line, "r4") for line in lines), "player"
    )
    player.page.goto("/account")
    row = player.page.get_by_role("row").filter(has_text="Round void, bets returned").first
    expect(row).to_contain_text("Too few tumbles")
    player.page.goto("/table/r4")
    expect(player.page.get_by_test_id("notice")).to_contain_text("Round 1 is void")


def is_void_at(line: dict[str, Any], table: str) -> bool:
    return (line["table"], line["what"]) == (table, "void")


def test_player_who_joins_during_a_round_sees_a_notice(house: House, new_user: NewUser) -> None:
    house.pass_checks("r5")
    house.buy_in("r5", "player2")
    house.send("dealer", "r5", "OpenBetting")
    house.send("dealer", "r5", "CloseBetting")
    player = PlayerPage(house, "r5", new_user)
    phase = player.page.get_by_test_id("phase")
    expect(phase).to_contain_text("You came in the middle of this round")
    player.finish_round()
    expect(phase).to_contain_text("Between rounds")
    house.send("supervisor", "r5", "CloseTable")
    expect(phase).to_contain_text("This table is closed")
    expect(player.toolbar_button("Double")).to_be_disabled()


def test_dice_tumbled_before_betting_are_shown_as_covered(house: House, new_user: NewUser) -> None:
    player = PlayerPage(house, "nz", new_user)
    player.deal("tumble")
    player.open_betting()
    call = player.page.get_by_test_id("call")
    expect(call).to_have_text("The dice have been tumbled and are covered")
    player.finish_round()
    expect(call).to_have_text("1, 4, 5, total 10")


def test_dice_of_an_open_cover_game_are_shown_in_the_tumbler(
    house: House, new_user: NewUser
) -> None:
    player = PlayerPage(house, "open", new_user)
    player.open_betting()
    call = player.page.get_by_test_id("call")
    expect(call).to_have_text("The dice wait in the tumbler")
    player.deal("close-betting", "tumble")
    expect(call).to_have_text("The dice have been tumbled")


def test_shooter_chooses_dice_bets_and_throws(house: House, new_user: NewUser) -> None:
    player = PlayerPage(house, "triple", new_user)
    shooter = player.page.get_by_test_id("shooter")
    expect(shooter).to_contain_text("Nobody has the dice")
    house.send("dealer", "triple", "OfferDice", player=player.account)
    for die in (2, 3, 5):
        player.button(f"Die {die}").click()
    player.button("Take these dice").click()
    expect(player.button("Die 2")).to_have_count(0)
    player.open_betting()
    expect(shooter).to_contain_text("before you throw")
    player.place("red")
    player.page.get_by_label("Amount of the bet").fill("7")
    player.button("Place the bet").click()
    expect(player.page.get_by_test_id("shooter-stake")).to_contain_text("7.00")
    player.box("shooter").click(button="right")
    expect(player.refusal).to_have_count(0)
    player.deal("close-betting")
    player.button("Throw the dice").click()
    expect(player.page.get_by_test_id("call")).to_have_text("The dice have been thrown")
    player.deal("call-result", "collect-losers", "pay-winners")
    expect(shooter).to_contain_text("1 of 4 throws won")
    expect(player.box("shooter")).to_have_attribute("aria-label", re.compile("your chips 7.00"))
    expect(player.page.get_by_test_id("staked")).to_have_text(format_amount(700))
    expect(player.page.get_by_test_id("stack")).to_have_text(format_amount(player.seat()["stack"]))

    player.open_betting()
    player.deal("close-betting")
    width, height = PHONE_ON_ITS_SIDE
    player.page.set_viewport_size({"width": width, "height": height})
    player.page.reload()
    expect(player.button("Throw the dice")).to_be_in_viewport(ratio=1)
    expect(player.page.get_by_test_id("phase")).to_contain_text("Round 2")


def test_automatic_table_counts_down_and_reveals_the_committed_seed(
    house: House, new_user: NewUser
) -> None:
    player = PlayerPage(house, "auto", new_user)
    page = player.page
    house.advance_clock(CLOSING_SECONDS)
    view = house.get_until("/api/tables/auto", lambda view: view["betting_closes"] > 0)
    assert view["betting_closes"] == view["betting_since"] + BETTING_SECONDS * 1_000_000
    expect(page.get_by_test_id("countdown")).to_have_text(re.compile(r"^\s*[1-9]\d\d\s*$"))
    player.place("big")
    house.advance_clock(BETTING_SECONDS)
    expect(page.get_by_test_id("phase")).to_contain_text("No more Bets")
    house.advance_clock(CLOSING_SECONDS)
    fairness = page.get_by_test_id("fairness")
    fairness.get_by_role("button", name="Verify the dice of round").click()
    check = fairness.get_by_test_id("dice-check")
    expect(check).to_have_attribute("data-fair", "true")
    expect(check.locator("[data-holds=true]")).to_have_count(4)
    expect(check).to_have_attribute("data-round", "1")
    expect(check).to_contain_text("Your bets in it: 1.")
    history = house.get("/api/tables/auto/rounds/1")["events"]
    (revealed,) = [each["event"] for each in history if each["event"]["type"] == "SeedRevealed"]
    check.locator("summary").press("Enter")
    expect(check.get_by_test_id("seed")).to_have_text(revealed["seed"])


def test_debt_is_shown_and_repaid(house: House, new_user: NewUser) -> None:
    player = PlayerPage(house, "r6", new_user, amount=5_000)
    ruling = {"player": player.account, "amount": -10_000, "reason": "paid twice by mistake"}
    house.send("shift-manager", "r6", "MakeRuling", **ruling)
    expect(player.page.get_by_test_id("owing")).to_have_text(format_amount(5_000))
    expect(player.page.get_by_test_id("notice")).to_contain_text("100.00 was taken from you")
    house.buy_in("r6", amount=20_000)
    player.button("Repay").click()
    expect(player.page.get_by_label("Amount in SGD")).to_have_value("50.00")
    player.page.get_by_role("dialog").get_by_role("button", name="Repay").click()
    expect(player.page.get_by_test_id("owing")).to_have_count(0)
    player.assert_in_sync()


def test_chips_over_the_differential_are_returned_at_close(house: House, new_user: NewUser) -> None:
    player = PlayerPage(house, "narrow", new_user)
    player.open_betting()
    player.chip(25).click()
    player.place("big", "big", "big")
    expect(player.page.get_by_test_id("differential-big")).to_contain_text(
        "differ by 50; they differ by 75"
    )
    player.deal("close-betting")
    expect(player.page.get_by_test_id("notice")).to_contain_text(
        "25.00 of yours on Big was over the differential"
    )
    player.assert_chips(big=5_000)
