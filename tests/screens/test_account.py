"""One's own account: money to the cent, passwords, codes, sessions, tokens, and a locked screen."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pyotp
import pytest
from playwright.sync_api import expect

from tests.screens.axe import violations
from tests.screens.dealing import deal
from tests.screens.house import House, house_toml
from tests.screens.qr import read_qr
from tests.screens.serving import PASSWORD

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Page

    from tests.screens.browser import Person

NEW = "quite another password for him"


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A house of its own: passwords are changed here."""
    served = House(tmp_path_factory.mktemp("bank"), house_toml({"sg-c": "sg-rws-tai-sai-v6/c"}))
    yield served
    served.stop()


def money(amount: int) -> str:
    return f"{amount / 100:+,.2f}"


def test_statement_lists_every_amount_of_the_api_and_explains_a_round(
    bank: House, person: Callable[..., Person]
) -> None:
    bank.open_table("sg-c")
    player = bank.seat("sg-c")
    for _ in range(9):
        deal(bank, "sg-c", (6, 6, 5), until="close-betting")
        for box in ("big", "small", "single:6"):
            bank.send("player", "sg-c", "PlaceBet", player=player, box=box, amount=700)
        deal(bank, "sg-c", (6, 6, 5))
    assert bank.result_of("sg-c", 9) == (6, 6, 5)
    page = person(bank).sign_in("player", "/account")
    account = bank.get(f"/api/accounts/{player}", "player")
    expect(page.get_by_test_id("balance")).to_have_text(money(account["balance"])[1:])
    rows = page.get_by_test_id("statement").locator("tbody tr")
    expect(rows).to_have_count(25)
    page.get_by_role("button", name="Older").click()
    lines = bank.get(f"/api/accounts/{player}/statement?most=1000", "player")
    expect(rows).to_have_count(len(lines))
    shown = rows.locator("td:last-child").all_inner_texts()
    expected = [money(each["amount"]) if each["amount"] else "" for each in reversed(lines)]
    assert shown == expected
    page.get_by_role("button", name="Explain round 9 at sg-c").first.click()
    paper = page.get_by_role("dialog")
    explained = bank.get("/api/tables/sg-c/rounds/9/explanation", "player")
    for bet in explained:
        for line in bet["lines"]:
            expect(paper).to_contain_text(line)
    assert not violations(page)


def test_locked_screen_opens_only_with_the_password(
    bank: House, person: Callable[..., Person]
) -> None:
    page = person(bank).sign_in("dealer", "/account")
    page.get_by_role("button", name="Lock this screen").click()
    standing = page.get_by_test_id("standing")
    expect(standing).to_have_attribute("data-standing", "locked")
    assert not violations(page)
    standing.get_by_label("Password").fill("not this one")
    standing.get_by_role("button", name="Unlock").click()
    expect(standing.get_by_role("alert")).to_be_visible()
    standing.get_by_label("Password").fill(PASSWORD)
    standing.get_by_role("button", name="Unlock").click()
    expect(page.get_by_role("heading", name="Your account")).to_be_visible()


def test_user_ends_their_session_in_another_browser(
    bank: House, person: Callable[..., Person]
) -> None:
    elsewhere = person(bank).sign_in("supervisor2", "/account")
    expect(elsewhere.get_by_role("heading", name="Your account")).to_be_visible()
    page = person(bank).sign_in("supervisor2", "/account")
    others = page.get_by_test_id("sessions").locator("li").filter(has_not_text="this screen")
    expect(others).to_have_count(1)
    others.get_by_role("button").click()
    expect(others).to_have_count(0)
    elsewhere.goto("/")
    expect(elsewhere.get_by_role("button", name="Sign in")).to_be_visible()


def test_api_token_is_shown_once_and_refused_after_revocation(
    bank: House, person: Callable[..., Person]
) -> None:
    page = person(bank).sign_in("auditor", "/account")
    page.locator("summary", has_text="Make a token").click()
    page.get_by_label("What it is for").fill("the board in the bar")
    form = page.locator("form").filter(has=page.get_by_label("What it is for"))
    form.get_by_label("Password").fill(PASSWORD)
    form.get_by_role("button", name="Make a token").click()
    token = page.get_by_test_id("token")
    expect(token).to_contain_text("td_")
    said = token.inner_text()
    bearer = {"Authorization": f"Bearer {said}"}
    context = page.context.browser.new_context() if page.context.browser else page.context
    assert context.request.get(f"{bank.url}/api/tables", headers=bearer).ok
    page.reload()
    expect(page.get_by_test_id("tokens")).to_contain_text("the board in the bar")
    expect(token).to_have_count(0)
    page.get_by_role("button", name="Revoke the token").click()
    expect(page.get_by_test_id("tokens")).to_have_count(0)
    assert context.request.get(f"{bank.url}/api/tables", headers=bearer).status == 401
    context.close()


def test_password_change_refuses_a_weak_password_and_accepts_a_strong_one(
    bank: House, person: Callable[..., Person]
) -> None:
    page = person(bank).sign_in("player2", "/account")
    change(page, PASSWORD, "12345678")
    expect(page.get_by_role("alert").filter(has_text="password")).to_be_visible()
    change(page, PASSWORD, NEW)
    expect(page.get_by_text("The password is changed")).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    page.get_by_label("Name").fill("player2")
    page.get_by_label("Password").fill(NEW)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Tables")).to_be_visible()


def change(page: Page, old: str, new: str) -> None:
    page.get_by_label("Password there is").fill(old)
    page.get_by_label("New password", exact=True).fill(new)
    page.get_by_label("New password once more").fill(new)
    page.get_by_role("button", name="Change it").click()


def test_totp_enrolment_shows_a_qr_code_and_sign_in_then_asks_for_a_code(
    bank: House, person: Callable[..., Person]
) -> None:
    page = person(bank).sign_in("pit-manager", "/account")
    form = page.locator("form").filter(has=page.get_by_role("button", name="Set up codes"))
    form.get_by_label("Password").fill(PASSWORD)
    form.get_by_role("button", name="Set up codes").click()
    secret = page.get_by_test_id("secret").inner_text().replace(" ", "")
    assert read_qr(page.get_by_test_id("qr")) == page.get_by_test_id("uri").text_content()
    assert not violations(page)
    code = pyotp.TOTP(secret)
    page.get_by_label("The first code").fill(code.at(int(time.time())))
    page.get_by_role("button", name="Put into use").click()
    codes = page.get_by_test_id("recovery-codes").locator("li")
    expect(codes).to_have_count(10)
    kept = codes.all_inner_texts()
    page.get_by_role("button", name="I have kept them").click()
    page.get_by_role("button", name="Sign out").click()
    page.get_by_label("Name").fill("pit-manager")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_label("Code from your telephone").fill(kept[0])
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Tables")).to_be_visible()


def test_staff_without_totp_must_enrol_before_any_other_page(
    tmp_path_factory: pytest.TempPathFactory, person: Callable[..., Person]
) -> None:
    toml = house_toml({"sg-c": "sg-rws-tai-sai-v6/c"}).replace(
        "totp_for_staff = false", "totp_for_staff = true"
    )
    house = House(tmp_path_factory.mktemp("codes"), toml)
    try:
        page = person(house, "phone").sign_in("dealer")
        standing = page.get_by_test_id("standing")
        expect(standing).to_have_attribute("data-standing", "enrolment")
        assert not violations(page)
        standing.get_by_label("Password").fill(PASSWORD)
        standing.get_by_role("button", name="Set up codes").click()
        secret = page.get_by_test_id("secret").inner_text().replace(" ", "")
        page.get_by_label("The first code").fill(pyotp.TOTP(secret).at(int(time.time())))
        page.get_by_role("button", name="Put into use").click()
        page.get_by_role("button", name="I have kept them").click()
        expect(page.get_by_role("heading", name="Tables")).to_be_visible()
    finally:
        house.stop()
