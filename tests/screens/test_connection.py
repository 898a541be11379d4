"""Lost connections and killed servers: no bet is lost, placed twice or shown before acceptance."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.screens.browser import assert_soon, format_amount
from tests.screens.house import House, house_toml
from tests.screens.network import FaultyNetwork, is_command

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page, Request

    from tests.screens.browser import NewUser

TABLES = {
    "cut": "sg-rws-tai-sai-v6/e",
    "answers": "sg-rws-tai-sai-v6/a",
    "kill": "sg-rws-tai-sai-v6/a",
}
CHIP = 100


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with House(tmp_path_factory.mktemp("cut"), house_toml(TABLES)) as house:
        yield house


def open_betting(house: House, table: str, *players: str) -> None:
    """Open betting at a table, with players who have chips."""
    house.pass_checks(table)
    for player in players:
        view = house.get(f"/api/tables/{table}", player)
        if not view["seats"]:
            house.buy_in(table, player)
    view = house.get(f"/api/tables/{table}")
    order = house.get(f"/api/tables/{table}/game")["conduct"]["procedure"]["order"]
    if view["round"] is None:
        if order[0] == "tumble":
            house.send("dealer", table, "Tumble", times=3)
        house.send("dealer", table, "OpenBetting")


def own_chips(house: House, table: str) -> dict[str, int]:
    """Return the player's chips by area, from the API."""
    view = house.get(f"/api/tables/{table}", "player")
    areas: dict[str, int] = view["seats"][house.account_id("player")]["areas"]
    return areas


def void_interrupted(house: House, table: str) -> None:
    """Resolve an interrupted round with no known dice: one user requests it, another approves."""
    request = {"command": {"type": "ResolveInterruption", "known": []}, "reason": "nothing thrown"}
    response = house.client("dealer").post(f"/api/tables/{table}/requests", json=request)
    assert response.is_success, response.text
    path = f"/api/requests/{response.json()['id']}/approve"
    approval = house.client("supervisor").post(path, json={})
    assert approval.is_success, approval.text


def place_bet(house: House, user: str, table: str, box: str, area: str) -> None:
    player = house.account_id(user)
    house.send(user, table, "PlaceBet", player=player, box=box, area=area, amount=CHIP)


def tap(page: Page, area: str, times: int = 1) -> None:
    """Place chips on an area by keyboard."""
    place = page.locator(f'[data-area="{area}"]')
    expect(place).to_be_visible()
    for _ in range(times):
        place.press("Enter")


def piles(page: Page, state: str) -> dict[str, int]:
    """Return the chips that a page shows in a state, by area."""
    found: dict[str, int] = page.evaluate(
        """state => Object.fromEntries([...document.querySelectorAll(`[data-pile="${state}"]`)]
            .map(pile => [pile.dataset.at, Number(pile.dataset.amount)]))""",
        state,
    )
    return found


def assert_in_sync(page: Page, house: House, table: str) -> None:
    """Assert that a page has reached the version of the server and shows the same chips."""
    view = house.get(f"/api/tables/{table}", "player")
    version = page.get_by_test_id("version")
    expect(version).to_have_text(re.compile(rf"^{view['version']}\b"))
    expect(page.locator('[data-pile="pending"]')).to_have_count(0)
    (seat,) = view["seats"].values()
    for area, amount in seat["areas"].items():
        pile = page.locator(f'[data-pile="placed"][data-at="{area}"]')
        expect(pile).to_have_attribute("data-amount", str(amount))
    expect(page.locator('[data-pile="placed"]')).to_have_count(len(seat["areas"]))
    expect(page.get_by_test_id("stack")).to_have_text(format_amount(seat["stack"]))


# --- lost connections -----------------------------------------------------------------------------


def test_silent_server_is_reported_within_two_seconds(house: House, new_user: NewUser) -> None:
    open_betting(house, "cut", "player")
    user = new_user(house)
    network = FaultyNetwork(user.context)
    user.page.clock.install()
    page = user.sign_in("player", "/table/cut")
    expect(page.locator('[data-area="big@left"]')).to_be_visible()
    expect(page.get_by_test_id("cut-off")).to_have_count(0)
    page.clock.pause_at(page.evaluate("Date.now() + 600_000"))  # as after a short sleep
    network.fall_silent(page)
    page.clock.run_for(1900)
    expect(page.get_by_test_id("cut-off")).to_be_visible()
    network.offline = False
    page.clock.resume()
    expect(page.get_by_test_id("cut-off")).to_have_count(0)


def test_reconnected_page_resumes_from_its_last_version(house: House, new_user: NewUser) -> None:
    open_betting(house, "cut", "player", "player2")
    user = new_user(house)
    network = FaultyNetwork(user.context)
    page = user.sign_in("player", "/table/cut")
    tap(page, "big@left")
    expect(page.locator('[data-pile="placed"][data-at="big@left"]')).to_have_count(1)
    network.disconnect()
    expect(page.get_by_test_id("cut-off")).to_be_visible()
    for area in ("left", "right", "left"):
        place_bet(house, "player2", "cut", "small", area)
    place_bet(house, "player", "cut", "big", "right")
    received = len(network.messages)
    network.offline = False
    expect(page.get_by_test_id("cut-off")).to_have_count(0)
    assert_in_sync(page, house, "cut")
    versions = network.event_versions()
    assert versions == list(range(versions[0], versions[0] + len(versions)))
    assert [each for each in network.messages[received:] if each.get("view")] == []
    assert network.resume_versions[-1]


def test_page_that_missed_an_event_shows_the_state_of_the_server(
    house: House, new_user: NewUser
) -> None:
    open_betting(house, "cut", "player", "player2")
    user = new_user(house)
    network = FaultyNetwork(user.context)
    page = user.sign_in("player", "/table/cut")
    expect(page.locator('[data-area="big@left"]')).to_be_visible()
    network.lose_event_messages = 1
    place_bet(house, "player", "cut", "big", "right")
    assert_soon(page, lambda: network.lose_event_messages, 0)
    place_bet(house, "player2", "cut", "small", "left")
    assert_in_sync(page, house, "cut")


# --- lost requests and responses ------------------------------------------------------------------


@pytest.mark.parametrize("lost", ["lose_responses", "lose_requests"])
def test_bet_with_a_lost_message_is_placed_once(house: House, new_user: NewUser, lost: str) -> None:
    open_betting(house, "answers", "player")
    before = own_chips(house, "answers")
    user = new_user(house)
    network = FaultyNetwork(user.context)
    page = user.sign_in("player", "/table/answers")
    setattr(network, lost, 1)
    tap(page, "big")
    expect(page.locator('[data-pile="pending"]')).to_have_count(0)
    assert_in_sync(page, house, "answers")
    assert own_chips(house, "answers") == {**before, "big": before.get("big", 0) + CHIP}
    assert len(set(network.idempotency_keys)) == 1


def test_bet_and_its_withdrawal_name_their_round(house: House, new_user: NewUser) -> None:
    open_betting(house, "answers", "player")
    number = house.get("/api/tables/answers", "player")["round"]["number"]
    page = new_user(house).sign_in("player", "/table/answers")
    with page.expect_request(is_command_request) as placed:
        tap(page, "small")
    with page.expect_request(is_command_request) as withdrawn:
        toolbar = page.get_by_role("toolbar", name="All your bets")
        toolbar.get_by_role("button", name="Undo", exact=True).click()
    bodies: list[Any] = [sent.value.post_data_json for sent in (placed, withdrawn)]
    assert [(body["type"], body["round"]) for body in bodies] == [
        ("PlaceBet", number),
        ("WithdrawBet", number),
    ]


def is_command_request(request: Request) -> bool:
    return is_command(request.url)


def test_bet_not_sent_before_its_round_ended_is_not_placed_in_the_next_round(
    house: House, new_user: NewUser
) -> None:
    open_betting(house, "answers", "player")
    user = new_user(house)
    network = FaultyNetwork(user.context)
    page = user.sign_in("player", "/table/answers")
    network.lose_requests = 1
    tap(page, "small")
    network.offline = True
    expect(page.get_by_test_id("cut-off")).to_be_visible()
    house.send("dealer", "answers", "AbandonRound", reason="the dice are lost")
    house.send("dealer", "answers", "OpenBetting")
    network.offline = False
    expect(page.get_by_test_id("refusal")).to_contain_text("which is not being played now")
    assert_in_sync(page, house, "answers")
    assert house.get("/api/tables/answers", "player")["round"]["totals"] == {}


def test_reloaded_page_reports_the_outcome_of_pending_commands(
    house: House, new_user: NewUser
) -> None:
    open_betting(house, "answers", "player")
    user = new_user(house)
    network = FaultyNetwork(user.context)
    page = user.sign_in("player", "/table/answers")
    network.lose_responses, network.lose_outcomes = 1, True
    tap(page, "single:1")
    expect(page.locator('[data-pile="pending"]')).to_have_count(1)
    network.offline = True
    expect(page.get_by_test_id("cut-off")).to_be_visible()
    network.offline = False
    page.reload(wait_until="commit")
    network.lose_outcomes = False
    report = page.get_by_test_id("left-behind")
    expect(report).to_contain_text("accepted 1, not accepted 0")
    assert_in_sync(page, house, "answers")
    page.reload()
    expect(page.get_by_test_id("stack")).to_be_visible()
    expect(report).to_have_count(0)


# --- killed server --------------------------------------------------------------------------------


def test_accepted_bets_survive_a_server_kill_during_the_round(
    tmp_path_factory: pytest.TempPathFactory, new_user: NewUser
) -> None:
    toml = house_toml({"kill": TABLES["kill"]})
    with House(tmp_path_factory.mktemp("kill"), toml) as house:
        open_betting(house, "kill", "player")
        user = new_user(house)
        network = FaultyNetwork(user.context)
        page = user.sign_in("player", "/table/kill")
        tap(page, "big", 3)
        expect(
            page.locator('[data-pile="placed"][data-at="big"][data-amount="300"]')
        ).to_be_visible()
        network.lose_all_responses = True  # the bet is accepted unknown to the page
        with page.expect_event("requestfailed", lambda request: is_command(request.url)):
            tap(page, "small", 4)
        house.kill()
        network.lose_all_responses = False
        expect(page.get_by_test_id("cut-off")).to_be_visible()
        assert_soon(page, lambda: piles(page, "placed"), {"big": 300})
        assert piles(page, "pending").keys() == {"small"}
        house.start()
        accepted = own_chips(house, "kill")
        assert accepted == {"big": 300, "small": CHIP}
        expect(page.get_by_test_id("cut-off")).to_have_count(0)
        expect(page.get_by_test_id("phase")).to_contain_text("Interrupted")
        assert_in_sync(page, house, "kill")
        assert own_chips(house, "kill") == accepted
        void_interrupted(house, "kill")
        expect(page.get_by_test_id("notice")).to_be_visible()
        assert_in_sync(page, house, "kill")
        assert own_chips(house, "kill") == {}
