"""Words of the staff pages: payments, recorded and idle reports, and the security trail."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.screens.browser import assert_soon, text_of
from tests.screens.house import House, house_toml

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Locator, Page

    from tests.screens.browser import NewUser

GAME = "sg-rws-tai-sai-v6/a"
TABLES = dict.fromkeys(("late", "idle", "asked"), GAME) | {"winners": "nz-tai-sai-2008/1"}
ROLL = (1, 2, 3)
WINNING = (
    "small", "total:6", "single:1", "single:2", "single:3", "domino:1-2", "domino:1-3",
    "domino:2-3",
)  # fmt: skip
MANY = 20
"""From so many winners on, the list has several columns."""

CUT_BOXES = """(lines) => lines.flatMap((line) => {
  const box = line.querySelector("button").title.split(" · ").at(-1);
  const texts = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const { data, parentElement: part } = texts.currentNode;
    if (part.closest(".hidden-visually") || !data.trim().startsWith(box)) continue;
    const range = document.createRange();
    const start = data.indexOf(box);
    range.setStart(texts.currentNode, start);
    range.setEnd(texts.currentNode, start + box.length);
    const [text, room] = [range, part].map((each) => each.getBoundingClientRect());
    return text.right > room.right + 1 || text.bottom > room.bottom + 1 ? [box] : [];
  }
  return [`${box} is not there`];
})"""
"""Return the boxes in a list of payments whose names are cut or missing."""


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with House(tmp_path_factory.mktemp("words"), house_toml(TABLES)) as house:
        for table in TABLES:
            house.pass_checks(table)
        yield house


def open_report(page: Page, irregularity: str) -> Locator:
    page.locator(f"[data-irregularity={irregularity}]").click()
    return page.get_by_role("dialog")


def test_payment_list_of_many_winners_shows_every_box_in_full(
    house: House, new_user: NewUser
) -> None:
    house.deal("winners", ROLL, until="close-betting")
    players = {user: house.buy_in("winners", user, 400_000) for user in ("player", "player2")}
    guest = {"player": "guest-1", "amount": 400_000, "source": "cash"}
    house.send("dealer", "winners", "BuyIn", **guest)
    for user, player in (*players.items(), ("dealer", "guest-1")):
        manner = "behalf" if user == "dealer" else "self"
        for box in WINNING:
            bet = {"player": player, "box": box, "amount": 50_000, "manner": manner}
            house.send(user, "winners", "PlaceBet", **bet)
    house.deal("winners", ROLL, until="pay-winners")
    page = new_user(house).sign_in("dealer", "/deal/winners")
    lines = page.get_by_test_id("pay").locator("li[data-spot]")
    assert 3 * len(WINNING) >= MANY
    expect(lines).to_have_count(3 * len(WINNING))
    for width, height in ((1440, 900), (1024, 768), (390, 844)):
        page.set_viewport_size({"width": width, "height": height})
        assert_soon(page, lambda: lines.evaluate_all(CUT_BOXES), [])


def test_recorded_late_bet_says_what_follows(house: House, new_user: NewUser) -> None:
    house.deal("late", ROLL, until="tumble")
    page = new_user(house).sign_in("dealer", "/deal/late")
    dialog = open_report(page, "bet-after-close")
    dialog.get_by_label("Note").fill("seat 2, on small")
    dialog.get_by_test_id("confirm").click()
    expect(dialog).to_have_count(0)
    notice = page.get_by_test_id("notice")
    expect(notice).to_contain_text("Recorded: Late bet.")
    expect(notice).to_contain_text("seat 2, on small")
    expect(notice).to_contain_text("It is refused and recorded; no bet changes.")
    expect(notice).to_contain_text("3.6, 5.7")
    notice.get_by_role("button", name="Read").click()
    expect(notice).to_have_count(0)


@pytest.mark.clause("sg-rws-tai-sai-v6 5.5")
def test_report_that_voids_nothing_states_no_consequence(house: House, new_user: NewUser) -> None:
    house.buy_in("idle")
    house.deal("idle", ROLL)
    house.deal("idle", ROLL, until="close-betting")
    page = new_user(house).sign_in("dealer", "/deal/idle")
    dialog = open_report(page, "dice-not-flat")
    follows = dialog.get_by_test_id("consequence")
    expect(follows).to_contain_text("Nothing: no round is void by this report now.")
    expect(follows).to_contain_text("Round 2 has not come to this yet: “Tumble the dice”")
    expect(follows).to_contain_text("too late for Round 1: the result stands")
    expect(follows).not_to_contain_text("This round is void")
    expect(follows).not_to_contain_text("A second person")
    expect(dialog.get_by_test_id("confirm")).to_be_disabled()
    expect(dialog.get_by_test_id("confirm")).to_have_text("Confirm")
    refused = house.client("dealer").post(
        "/api/tables/idle/commands",
        json={"type": "Report", "irregularity": "dice-not-flat"},
        headers={"Idempotency-Key": "idle-report"},
    )
    assert refused.json()["code"] == "irregularity/not-now"


def test_security_trail_names_requests_and_marks_addresses(house: House, new_user: NewUser) -> None:
    house.deal("asked", ROLL, until="enter-result")
    report = {"type": "Report", "irregularity": "dice-not-flat", "rounds": [1]}
    asked = house.client("dealer").post(
        "/api/tables/asked/requests", json={"command": report, "reason": "seen on the camera"}
    )
    assert asked.is_success, asked.text
    for user, words in (("auditor", "Asked · "), ("administrator", "request ")):
        page = new_user(house).sign_in(user, "/pit?view=audit")
        trail = page.get_by_role("region", name="Security trail")
        expect(trail.get_by_test_id("trail-request").first).to_contain_text(words)
        expect(trail.get_by_text(re.compile("^address [0-9a-f]{6}$")).first).to_be_visible()
        assert re.findall(r"\b[0-9a-f]{12,}\b", text_of(trail)) == []
