"""People at a table: distinct names and seats on every screen, and winners paid in turn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.screens.browser import accessibility_violations, assert_soon
from tests.screens.house import House, house_toml
from tests.screens.table_screens import press_next

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page, Response

    from tests.screens.browser import NewUser

GAME = "sg-rws-tai-sai-v6/a"


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    tables = dict.fromkeys(("seats", "pay"), GAME)
    tables |= dict.fromkeys(("area", "ticked"), "nz-tai-sai-2008/1")
    with House(tmp_path_factory.mktemp("people"), house_toml(tables)) as it:
        for table in tables:
            it.pass_checks(table)
        yield it


def seat_by_card(page: Page, card: str) -> None:
    """Seat the player with a card number, with chips for 250."""
    page.keyboard.press("w")
    page.get_by_label("Name or card number").fill(card)
    expect(page.get_by_role("listbox").get_by_role("option")).to_contain_text(f"Card {card}")
    page.keyboard.press("Enter")
    buy_in(page)


def seat_guest(page: Page, number: int) -> None:
    page.keyboard.press("w")
    page.get_by_role("button", name=f"Guest {number}").click()
    buy_in(page)


def buy_in(page: Page) -> None:
    expect(page.get_by_label("Amount (SGD)")).to_be_focused()
    page.keyboard.type("250")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_every_screen_names_a_person_alike_and_no_two_people_look_alike(
    house: House, new_user: NewUser
) -> None:
    player, other = house.account_id("player"), house.account_id("player2")
    for account in (player, other):
        recorded = house.client("supervisor").put(
            f"/api/accounts/{account}/person", json={"name": "Ann Tan", "born": "1990-01-01"}
        )
        assert recorded.is_success
    cards = [f"{each[:4]}-{each[4:8]}".upper() for each in (player, other)]
    names = [
        f"Seat 1 · Ann Tan · {cards[0]}",
        f"Seat 2 · Ann Tan · {cards[1]}",
        "Seat 3 · Guest 1",
    ]
    dealer = new_user(house).sign_in("dealer", "/deal/seats")
    expect(dealer.get_by_test_id("next")).to_be_enabled()
    dealer.keyboard.press("w")
    dealer.get_by_label("Name or card number").fill("nobody at all")
    expect(dealer.get_by_text("No player has this name or card number.")).to_be_visible()
    dealer.keyboard.press("Enter")
    expect(dealer.get_by_test_id("chosen")).to_have_count(0)
    assert accessibility_violations(dealer) == []
    dealer.keyboard.press("Escape")
    for card in cards:
        seat_by_card(dealer, card)
    seat_guest(dealer, 1)
    expect(dealer.locator("[data-player] [aria-pressed]")).to_have_count(3)
    for name in names:
        expect(dealer.get_by_role("button", name=name).first).to_be_visible()

    own = new_user(house).sign_in("player2", "/table/seats")
    expect(own.get_by_test_id("seat")).to_have_text(f"Seat 2 Ann Tan · {cards[1]}")

    pit = new_user(house).sign_in("shift-manager", "/")
    missing: list[str] = []

    def note(answer: Response) -> None:
        if answer.status == 404:
            missing.append(answer.url)

    pit.on("response", note)
    pit.goto("/pit/seats")
    for name in names:
        expect(pit.get_by_role("link", name=name, exact=True)).to_be_visible()
    pit.goto("/pit/seats?view=decisions")
    form = pit.locator("form").filter(has_text="Make the ruling")
    expect(form.get_by_role("radio")).to_have_count(3 + 2)
    form.get_by_label(f"Ann Tan · {cards[1]} Seat 2 · Card {cards[1]}").check()
    form.get_by_label("Amount").fill("12.34")
    form.get_by_label("Reason").fill("found on the floor")
    form.get_by_role("button", name="Make the ruling").click()
    refused = pit.get_by_role("alert").filter(has_text="12.34 cannot be made in chips of 1")
    expect(refused).to_be_visible()
    assert accessibility_violations(pit) == []
    pit.goto("/pit?view=players")
    for detail in (f"Seat 1 · Card {cards[0]}", f"Seat 2 · Card {cards[1]}", "Guest 1 Seat 3"):
        expect(pit.get_by_role("button", name=detail)).to_be_visible()
    assert missing == []


def test_winners_are_paid_one_at_a_time_with_their_chips(house: House, new_user: NewUser) -> None:
    players = [house.buy_in("pay", user, 100_000) for user in ("player", "player2")]
    house.send("dealer", "pay", "OpenBetting")
    for user, player, box, amount in (
        ("player2", players[1], "big", 17_500),
        ("player", players[0], "big", 2_600),
        ("player", players[0], "single:6", 500),
        ("player", players[0], "small", 500),
    ):
        house.send(user, "pay", "PlaceBet", player=player, box=box, amount=amount)
    house.deal("pay", (6, 5, 4), until="pay-winners")
    page = new_user(house).sign_in("dealer", "/deal/pay")
    paying, ticked = page.get_by_test_id("paying"), page.get_by_test_id("ticked")
    current = page.locator("[data-current]")

    def chips() -> Any:
        return paying.locator("[data-chip]").evaluate_all(
            "all => all.map((each) => [each.dataset.chip, each.dataset.count])"
        )

    expect(paying).to_contain_text("Seat 1")
    expect(paying.locator("[data-amount='2600']")).to_have_text("26.00")
    assert_soon(page, chips, [["2500", "1"], ["100", "1"]])
    expect(current).to_have_attribute("data-seat", "1")
    expect(current).to_have_attribute("data-at", "big")
    assert accessibility_violations(page) == []
    page.keyboard.press("Enter")
    expect(ticked).to_have_text("1 of 3 paid")
    expect(paying.locator("[data-amount='17500']")).to_be_visible()
    assert_soon(page, chips, [["10000", "1"], ["2500", "3"]])
    expect(current).to_have_attribute("data-seat", "2")
    page.keyboard.press("Backspace")
    expect(ticked).to_have_text("0 of 3 paid")
    expect(paying.locator("[data-amount='2600']")).to_be_visible()
    for paid in (1, 2):
        page.keyboard.press("Enter")
        expect(ticked).to_have_text(f"{paid} of 3 paid")
    expect(current).to_have_attribute("data-at", "single:6")
    page.keyboard.press("Enter")
    expect(paying).to_contain_text("All winners are ticked")
    assert house.get("/api/tables/pay")["round"], "ticks pay nobody"

    page.keyboard.press("Enter")

    expect(page.get_by_test_id("round")).to_have_text("Between rounds")
    seats = house.get("/api/tables/pay")["seats"]
    assert [seats[each]["stack"] for each in players] == [100_000 + 2_600 + 500 - 500, 117_500]


@pytest.mark.clause("nz-tai-sai-2008 4.7(b)")
def test_winners_of_one_area_are_paid_with_one_key_and_have_their_chips(
    house: House, new_user: NewUser
) -> None:
    player, other = (house.buy_in("area", user, 100_000) for user in ("player", "player2"))
    house.deal("area", (6, 5, 4), until="close-betting")
    for user, account, box in (
        ("player", player, "big"),
        ("player2", other, "big"),
        ("player", player, "single:6"),
    ):
        house.send(user, "area", "PlaceBet", player=account, box=box, amount=500)
    felt = new_user(house).sign_in("player", "/table/area")
    expect(felt.get_by_test_id("staked")).to_have_text("10.00")
    house.deal("area", (6, 5, 4), until="pay-winners")
    page = new_user(house).sign_in("dealer", "/deal/area")
    expect(page.get_by_test_id("ticked")).to_have_text("0 of 3 paid")

    page.keyboard.press("f")

    expect(page.get_by_test_id("ticked")).to_have_text("0 of 1 paid")
    expect(page.locator("[data-current]")).to_have_attribute("data-at", "single:6")
    assert accessibility_violations(page) == []
    expect(felt.get_by_test_id("stack")).to_have_text("1,000.00")
    expect(felt.get_by_test_id("staked")).to_have_text("5.00")
    view = house.get("/api/tables/area")
    assert view["round"]["totals"] == {"single:6": 500}
    assert view["seats"][other]["stack"] == 100_500

    press_next(page)

    expect(page.get_by_test_id("round")).to_have_text("Between rounds")
    expect(felt.get_by_test_id("net")).to_contain_text("+10.00")
    expect(felt.get_by_test_id("stack")).to_have_text("1,010.00")


def test_area_of_the_last_tick_is_paid_when_its_winners_are_ticked(
    house: House, new_user: NewUser
) -> None:
    players = [house.buy_in("ticked", user, 100_000) for user in ("player", "player2")]
    house.deal("ticked", (6, 5, 4), until="close-betting")
    for user, player in zip(("player", "player2"), players, strict=True):
        house.send(user, "ticked", "PlaceBet", player=player, box="big", amount=500)
    house.send("player", "ticked", "PlaceBet", player=players[0], box="single:6", amount=500)
    house.deal("ticked", (6, 5, 4), until="pay-winners")
    page = new_user(house).sign_in("dealer", "/deal/ticked")
    area, ticked = page.get_by_test_id("pay-area"), page.get_by_test_id("ticked")
    expect(ticked).to_have_text("0 of 3 paid")
    for paid in (1, 2):
        page.keyboard.press("Enter")
        expect(ticked).to_have_text(f"{paid} of 3 paid")
    expect(page.locator("[data-current]")).to_have_attribute("data-at", "single:6")
    expect(area).to_contain_text("Pay Big now")

    page.keyboard.press("f")

    expect(ticked).to_have_text("0 of 1 paid")
    expect(area).to_contain_text("Pay Single 6 now")
    assert house.get("/api/tables/ticked")["round"]["totals"] == {"single:6": 500}

    page.reload()
    expect(ticked).to_have_text("0 of 1 paid")
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("paying")).to_contain_text("All winners are ticked")
    expect(area).to_contain_text("Pay Single 6 now")
    page.keyboard.press("f")
    expect(page.get_by_text("Nothing to pay.")).to_be_visible()
    assert house.get("/api/tables/ticked")["round"]["totals"] == {}
