"""A line that is cut, a house that is killed: nothing lost, nothing shown that was not accepted."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.screens.house import House, house_toml
from tests.screens.line import Line, is_command

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Page

    from tests.screens.browser import Person

TABLES = {
    "cut": "sg-rws-tai-sai-v6/e",
    "answers": "sg-rws-tai-sai-v6/a",
    "kill": "sg-rws-tai-sai-v6/a",
}
CHIP = 100


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    served = House(tmp_path_factory.mktemp("cut"), house_toml(TABLES))
    yield served
    served.stop()


def betting(house: House, table: str, *players: str) -> None:
    """Have betting open at a table, with players who have chips."""
    house.open_table(table)
    for who in players:
        view = house.get(f"/api/tables/{table}", who)
        if not view["seats"]:
            house.seat(table, who)
    view = house.get(f"/api/tables/{table}")
    order = house.get(f"/api/tables/{table}/game")["conduct"]["procedure"]["order"]
    if view["round"] is None:
        if order[0] == "tumble":
            house.send("dealer", table, "Tumble", times=3)
        house.send("dealer", table, "OpenBetting")


def own_chips(house: House, table: str) -> dict[str, int]:
    """Return a player's chips by area, as the house has them."""
    view = house.get(f"/api/tables/{table}", "player")
    areas: dict[str, int] = view["seats"][house.id("player")]["areas"]
    return areas


def void_interrupted(house: House, table: str) -> None:
    """Have two people state that no dice are known of a round that was interrupted."""
    wanted = {"command": {"type": "ResolveInterruption", "known": []}, "reason": "nothing thrown"}
    asked = house.as_("dealer").post(f"/api/tables/{table}/requests", json=wanted)
    assert asked.is_success, asked.text
    path = f"/api/requests/{asked.json()['id']}/approve"
    approved = house.as_("supervisor").post(path, json={})
    assert approved.is_success, approved.text


def bet(house: House, who: str, table: str, box: str, end: str) -> None:
    player = house.id(who)
    house.send(who, table, "PlaceBet", player=player, box=box, area=end, amount=CHIP)


def tap(page: Page, area: str, times: int = 1) -> None:
    """Put chips on an area, by its keyboard."""
    place = page.locator(f'[data-area="{area}"]')
    expect(place).to_be_visible()
    for _ in range(times):
        place.press("Enter")


def piles(page: Page, state: str) -> dict[str, int]:
    """Return the chips that a screen shows in a state, by area."""
    found: dict[str, int] = page.evaluate(
        """state => Object.fromEntries([...document.querySelectorAll(`[data-pile="${state}"]`)]
            .map(pile => [pile.dataset.at, Number(pile.dataset.amount)]))""",
        state,
    )
    return found


def shows_what_the_house_has(page: Page, house: House, table: str, who: str = "player") -> None:
    """The screen has come as far as the house, and shows the same chips."""
    view = house.get(f"/api/tables/{table}", who)
    version = page.get_by_test_id("version")
    expect(version).to_have_text(re.compile(rf"^{view['version']}\b"))
    expect(page.locator('[data-pile="pending"]')).to_have_count(0)
    (seat,) = view["seats"].values()
    assert piles(page, "placed") == seat["areas"]
    expect(page.get_by_test_id("stack")).to_have_text(f"{seat['stack'] / 100:,.2f}")


# --- a line that is cut ---------------------------------------------------------------------------


def test_silent_server_is_reported_within_two_seconds(
    house: House, person: Callable[..., Person]
) -> None:
    betting(house, "cut", "player")
    someone = person(house)
    line = Line(someone.context)
    someone.page.clock.install()
    page = someone.sign_in("player", "/table/cut")
    expect(page.locator('[data-area="big@left"]')).to_be_visible()
    expect(page.get_by_test_id("cut-off")).to_have_count(0)
    page.clock.pause_at(page.evaluate("Date.now() + 20_000"))  # as after a short sleep
    line.cut = True
    page.clock.run_for(1900)
    expect(page.get_by_test_id("cut-off")).to_be_visible()
    line.cut = False
    page.clock.resume()
    expect(page.get_by_test_id("cut-off")).to_have_count(0)


def test_reconnected_page_resumes_from_its_last_version(
    house: House, person: Callable[..., Person]
) -> None:
    betting(house, "cut", "player", "player2")
    someone = person(house)
    line = Line(someone.context)
    page = someone.sign_in("player", "/table/cut")
    tap(page, "big@left")
    expect(page.locator('[data-pile="placed"][data-at="big@left"]')).to_have_count(1)
    line.hang_up()
    expect(page.get_by_test_id("cut-off")).to_be_visible()
    for end in ("left", "right", "left"):
        bet(house, "player2", "cut", "small", end)
    bet(house, "player", "cut", "big", "right")
    heard = len(line.told)
    line.cut = False
    expect(page.get_by_test_id("cut-off")).to_have_count(0)
    shows_what_the_house_has(page, house, "cut")
    versions = line.versions()
    assert versions == list(range(versions[0], versions[0] + len(versions)))
    assert [each for each in line.told[heard:] if each.get("view")] == []
    assert line.after[-1]


def test_page_that_missed_an_event_shows_the_state_of_the_server(
    house: House, person: Callable[..., Person]
) -> None:
    betting(house, "cut", "player", "player2")
    someone = person(house)
    line = Line(someone.context)
    page = someone.sign_in("player", "/table/cut")
    expect(page.locator('[data-area="big@left"]')).to_be_visible()
    line.lose_events = 1
    bet(house, "player", "cut", "big", "right")
    expect(page.get_by_test_id("stack")).to_be_visible()
    bet(house, "player2", "cut", "small", "left")
    shows_what_the_house_has(page, house, "cut")


# --- answers that are lost ------------------------------------------------------------------------


@pytest.mark.parametrize("lost", ["lose_answers", "lose_questions"])
def test_bet_with_a_lost_message_is_placed_once(
    house: House, person: Callable[..., Person], lost: str
) -> None:
    betting(house, "answers", "player")
    before = own_chips(house, "answers")
    someone = person(house)
    line = Line(someone.context)
    page = someone.sign_in("player", "/table/answers")
    setattr(line, lost, 1)
    tap(page, "big")
    expect(page.locator('[data-pile="pending"]')).to_have_count(0)
    shows_what_the_house_has(page, house, "answers")
    assert own_chips(house, "answers") == {**before, "big": before.get("big", 0) + CHIP}
    assert len(set(line.keys)) == 1


def test_bet_not_sent_before_its_round_ended_is_not_placed_in_the_next_round(
    house: House, person: Callable[..., Person]
) -> None:
    betting(house, "answers", "player")
    someone = person(house)
    line = Line(someone.context)
    page = someone.sign_in("player", "/table/answers")
    line.lose_questions = 1
    tap(page, "small")
    line.cut = True
    expect(page.get_by_test_id("cut-off")).to_be_visible()
    house.send("dealer", "answers", "AbandonRound", reason="the dice are lost")
    house.send("dealer", "answers", "OpenBetting")
    line.cut = False
    expect(page.get_by_test_id("refusal")).to_contain_text("did not reach the house in time")
    shows_what_the_house_has(page, house, "answers")
    assert house.get("/api/tables/answers", "player")["round"]["totals"] == {}


def test_reloaded_page_reports_the_outcome_of_pending_commands(
    house: House, person: Callable[..., Person]
) -> None:
    betting(house, "answers", "player")
    someone = person(house)
    line = Line(someone.context)
    page = someone.sign_in("player", "/table/answers")
    line.lose_answers = 1
    tap(page, "odd" if page.locator('[data-area="odd"]').count() else "single:1")
    expect(page.locator('[data-pile="pending"]')).to_have_count(1)
    line.cut = True
    expect(page.get_by_test_id("cut-off")).to_be_visible()
    line.cut = False
    page.reload()
    told = page.get_by_test_id("left-behind")
    expect(told).to_contain_text("accepted 1, not accepted 0")
    shows_what_the_house_has(page, house, "answers")
    page.reload()
    expect(page.get_by_test_id("stack")).to_be_visible()
    expect(told).to_have_count(0)


# --- a house that is killed -----------------------------------------------------------------------


def test_accepted_bets_survive_a_server_kill_during_the_round(
    tmp_path_factory: pytest.TempPathFactory, person: Callable[..., Person]
) -> None:
    house = House(tmp_path_factory.mktemp("kill"), house_toml({"kill": TABLES["kill"]}))
    try:
        betting(house, "kill", "player")
        someone = person(house)
        line = Line(someone.context)
        page = someone.sign_in("player", "/table/kill")
        tap(page, "big", 3)
        expect(
            page.locator('[data-pile="placed"][data-at="big"][data-amount="300"]')
        ).to_be_visible()
        line.deaf = True  # the house accepts a bet, and the screen hears nothing of it
        with page.expect_event("requestfailed", lambda request: is_command(request.url)):
            tap(page, "small", 4)
        house.kill()
        line.deaf = False
        expect(page.get_by_test_id("cut-off")).to_be_visible()
        assert piles(page, "placed") == {"big": 300}
        assert piles(page, "pending").keys() == {"small"}
        house.start()
        kept = own_chips(house, "kill")
        assert kept == {"big": 300, "small": CHIP}
        expect(page.get_by_test_id("cut-off")).to_have_count(0)
        expect(page.get_by_test_id("phase")).to_contain_text("Interrupted")
        shows_what_the_house_has(page, house, "kill")
        assert own_chips(house, "kill") == kept
        void_interrupted(house, "kill")
        expect(page.get_by_test_id("notice")).to_be_visible()
        shows_what_the_house_has(page, house, "kill")
        assert own_chips(house, "kill") == {}
    finally:
        house.stop()
