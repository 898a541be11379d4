"""The account page: statement, password, TOTP, sessions, API tokens, and the locked screen."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import time
from typing import TYPE_CHECKING

import pyotp
import pytest
from playwright.sync_api import expect

from screens import build
from tests.screens.browser import (
    accessibility_violations,
    box_of,
    format_amount,
    text_of,
    wait_until_loaded,
)
from tests.screens.house import House, house_toml
from tests.screens.house_server import PASSWORD

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Locator, Page

    from tests.screens.browser import NewUser

TIME = re.compile(r"^\s*\d{1,2} \w{3,4} \d{4}, \d\d:\d\d:\d\d\s*$")
NEW_PASSWORD = "quite another password"
TOML = house_toml({"sg-c": "sg-rws-tai-sai-v6/c"})


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """Run a house for this module, because its tests change passwords."""
    with House(tmp_path_factory.mktemp("accounts"), TOML) as house:
        yield house


def test_statement_has_each_account_with_its_balances_and_explains_a_round(
    house: House, new_user: NewUser
) -> None:
    house.pass_checks("sg-c")
    player = house.buy_in("sg-c")
    for _ in range(9):
        house.deal("sg-c", (6, 6, 5), until="close-betting")
        for box in ("big", "small", "single:6", "odd", "even", "total:17"):
            house.send("player", "sg-c", "PlaceBet", player=player, box=box, amount=700)
        house.deal("sg-c", (6, 6, 5))
    assert house.round_result("sg-c", 9) == (6, 6, 5)
    page = new_user(house).sign_in("player", "/account")
    check_ledgers(page, house, player, 50)
    page.get_by_role("button", name="Older lines").click()
    check_ledgers(page, house, player, 1000)
    page.get_by_role("button", name="Explain round 9 at SG C").first.click()
    dialog = page.get_by_role("dialog")
    explained = house.get("/api/tables/sg-c/rounds/9/explanation", "player")
    for bet in explained:
        net = format_amount(bet["net"], sign=True)
        expect(dialog.locator(f"[data-bet='{bet['spot']}']")).to_contain_text(net)
    net = format_amount(sum(bet["net"] for bet in explained), sign=True)
    expect(dialog.get_by_test_id("explained-net")).to_contain_text(net)
    dialog.get_by_test_id("chip-by-chip").locator("summary").click()
    steps = [step for bet in explained for step in bet["steps"]]
    expect(dialog.get_by_role("listitem")).to_have_count(len(steps))
    assert not accessibility_violations(page)
    page.keyboard.press("Escape")

    stack = house.get("/api/tables/sg-c", "player")["seats"][player]["stack"]
    house.send("player", "sg-c", "CashOut", player=player, amount=stack, to="account")
    page.evaluate("window.dispatchEvent(new Event('focus'))")
    chips = page.locator("[data-account=sg-c]")
    expect(chips.locator("tbody tr").first).to_contain_text("Cashed out")
    check_ledgers(page, house, player, 1000)
    expect(chips.locator("[data-total=closing]")).to_have_text("0.00")

    with page.expect_download() as download:
        page.get_by_role("button", name="Download CSV").click()
    header, *lines = download.value.path().read_text("utf-8-sig").splitlines()
    assert header == "account,time,movement,note,round,currency,amount,debt,balance"
    ledgers = house.get(f"/api/accounts/{player}/ledgers?most=1000", "player")["ledgers"]
    assert [line.rpartition(",")[2] for line in lines] == [
        f"{line['balance'] / 100:.2f}" for ledger in ledgers for line in ledger["lines"]
    ]
    page.get_by_label("Period").select_option("Choose days")
    page.get_by_label("Last day").fill("2020-01-31")
    expect(page.get_by_test_id("ledger")).to_have_count(1)
    expect(page.locator("[data-total=closing]")).to_have_text("0.00")
    expect(page.get_by_test_id("balance")).to_have_text(format_amount(ledgers[0]["balance"]))


def check_ledgers(page: Page, house: House, player: str, most: int) -> None:
    """Check that every account has the totals and the lines of the API, the newest line first."""
    ledgers = house.get(f"/api/accounts/{player}/ledgers?most={most}", "player")["ledgers"]
    assert [each["table"] for each in ledgers] == ["", "sg-c"]
    expect(page.get_by_test_id("balance")).to_have_text(format_amount(ledgers[0]["balance"]))
    for ledger in ledgers:
        shown = page.locator(f"[data-account={ledger['table'] or 'house'}]")
        amounts = [line["amount"] for line in reversed(ledger["lines"])]
        balances = [line["balance"] for line in reversed(ledger["lines"])]
        expect(shown.locator("[data-cell=balance]")).to_have_text(
            list(map(format_amount, balances))
        )
        expect(shown.locator("[data-cell=amount]")).to_have_text(
            [format_amount(amount, sign=True) if amount else "" for amount in amounts]
        )
        for total in ("opening", "money_in", "money_out", "closing"):
            figure = shown.locator(f"[data-total={total}]")
            expect(figure).to_have_text(format_amount(ledger[total]))


def test_printed_statement_has_only_the_statement_and_times_have_24_hours(
    house: House, new_user: NewUser
) -> None:
    page = new_user(house).sign_in("player", "/account")
    expect(page.get_by_test_id("ledger").first).to_be_visible()
    page.emulate_media(media="print")
    expect(page.get_by_test_id("ledger").first).to_be_visible()
    hidden = page.locator("input, header, [data-testid=sessions]")
    expect(hidden.locator("visible=true")).to_have_count(0)
    box = box_of(page.get_by_test_id("ledger").first)
    assert box["x"] < 40, "an empty column is printed beside the statement"
    times = page.locator("[data-account=house] .when")
    expect(times.first).to_have_text(TIME)
    expect(times.filter(has_not_text=TIME)).to_have_count(0)


def test_locked_screen_opens_only_with_the_password(house: House, new_user: NewUser) -> None:
    page = new_user(house).sign_in("dealer", "/account")
    page.get_by_role("button", name="Lock this screen").click()
    standing = page.get_by_test_id("standing")
    expect(standing).to_have_attribute("data-standing", "locked")
    expect(standing.get_by_label("Password")).to_be_focused()
    assert not accessibility_violations(page)
    standing.get_by_label("Password").fill("not this one")
    standing.get_by_role("button", name="Unlock").click()
    expect(standing.get_by_role("alert")).to_be_visible()
    standing.get_by_label("Password").fill(PASSWORD)
    standing.get_by_role("button", name="Unlock").click()
    expect(page.get_by_role("heading", name="Your account")).to_be_visible()


def test_user_ends_their_session_in_another_browser(house: House, new_user: NewUser) -> None:
    other_page = new_user(house).sign_in("supervisor2", "/account")
    expect(other_page.get_by_role("heading", name="Your account")).to_be_visible()
    page = new_user(house).sign_in("supervisor2", "/account")
    others = page.get_by_test_id("sessions").locator("li").filter(has_not_text="this screen")
    expect(others).to_have_count(1)
    others.get_by_role("button").click()
    expect(others).to_have_count(0)
    other_page.goto("/")
    expect(other_page.get_by_role("button", name="Sign in")).to_be_visible()


def test_api_token_is_shown_once_and_refused_after_revocation(
    house: House, new_user: NewUser
) -> None:
    page = new_user(house).sign_in("auditor", "/account")
    page.locator("summary", has_text="Make a token").click()
    page.get_by_label("What it is for").fill("the board in the bar")
    form = page.locator("form").filter(has=page.get_by_label("What it is for"))
    form.get_by_label("Password").fill(PASSWORD)
    form.get_by_role("button", name="Make a token").click()
    token = page.get_by_test_id("token")
    expect(token).to_contain_text("td_")
    bearer = {"Authorization": f"Bearer {text_of(token)}"}
    context = page.context.browser.new_context() if page.context.browser else page.context
    assert context.request.get(f"{house.url}/api/tables", headers=bearer).ok
    page.reload()
    expect(page.get_by_test_id("tokens")).to_contain_text("the board in the bar")
    expect(token).to_have_count(0)
    page.get_by_role("button", name="Revoke the token").click()
    expect(page.get_by_test_id("tokens")).to_have_count(0)
    assert context.request.get(f"{house.url}/api/tables", headers=bearer).status == 401
    context.close()


def test_password_change_refuses_a_weak_password_and_accepts_a_strong_one(
    house: House, new_user: NewUser
) -> None:
    page = new_user(house).sign_in("player2", "/account")
    change_password(page, PASSWORD, "12345678")
    expect(page.get_by_role("alert").filter(has_text="password")).to_be_visible()
    change_password(page, PASSWORD, NEW_PASSWORD)
    expect(page.get_by_text("The password is changed")).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    page.get_by_label("Name").fill("player2")
    page.get_by_label("Password").fill(NEW_PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Tables")).to_be_visible()


def test_error_in_a_form_describes_its_control(house: House, new_user: NewUser) -> None:
    page = new_user(house).sign_in("player", "/account")
    again = page.get_by_label("New password again")
    page.get_by_label("New password", exact=True).fill("one password")
    again.fill("another password")
    expect(again).to_have_accessible_description("The two passwords differ.")
    expect(again).to_have_attribute("aria-invalid", "true")
    again.fill("one password")
    expect(again).to_have_accessible_description("")
    expect(again).to_have_attribute("aria-invalid", "false")


def change_password(page: Page, old: str, new: str) -> None:
    page.get_by_label("Current password").fill(old)
    page.get_by_label("New password", exact=True).fill(new)
    page.get_by_label("New password again").fill(new)
    page.get_by_role("button", name="Change the password").click()


def test_totp_enrolment_shows_a_qr_code_and_sign_in_then_asks_for_a_code(
    house: House, new_user: NewUser
) -> None:
    page = new_user(house).sign_in("pit-manager", "/account")
    form = page.locator("form").filter(has=page.get_by_role("button", name="Set up codes"))
    form.get_by_label("Password").fill(PASSWORD)
    form.get_by_role("button", name="Set up codes").click()
    secret = text_of(page.get_by_test_id("secret")).replace(" ", "")
    expect(page.get_by_test_id("qr")).to_be_visible()
    wait_until_loaded(page)
    expect(page.get_by_test_id("uri")).to_have_text(read_qr(page.get_by_test_id("qr")))
    assert not accessibility_violations(page)
    page.get_by_label("The first code").fill(current_code(secret))
    page.get_by_role("button", name="Put into use").click()
    codes = page.get_by_test_id("recovery-codes").locator("li")
    expect(codes).to_have_count(10)
    recovery_code = text_of(codes.first)
    page.get_by_role("button", name="I have kept them").click()
    page.get_by_role("button", name="Sign out").click()
    page.get_by_label("Name").fill("pit-manager")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_label("Code from your telephone").fill(recovery_code)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Tables")).to_be_visible()


def test_staff_without_totp_must_enrol_before_any_other_page(
    tmp_path_factory: pytest.TempPathFactory, new_user: NewUser
) -> None:
    toml = TOML.replace("totp_for_staff = false", "totp_for_staff = true")
    with House(tmp_path_factory.mktemp("totp"), toml) as house:
        page = new_user(house, "phone").sign_in("dealer")
        standing = page.get_by_test_id("standing")
        expect(standing).to_have_attribute("data-standing", "enrolment")
        assert not accessibility_violations(page)
        standing.get_by_label("Password").fill(PASSWORD)
        standing.get_by_role("button", name="Set up codes").click()
        secret = text_of(page.get_by_test_id("secret")).replace(" ", "")
        page.get_by_label("The first code").fill(current_code(secret))
        page.get_by_role("button", name="Put into use").click()
        page.get_by_role("button", name="I have kept them").click()
        expect(page.get_by_role("heading", name="Tables")).to_be_visible()


def current_code(secret: str) -> str:
    return pyotp.TOTP(secret).at(int(time.time()))


READ_PIXELS = """async (_, png) => {
  const bytes = Uint8Array.from(atob(png), (each) => each.charCodeAt(0));
  const image = await createImageBitmap(new Blob([bytes]));
  const canvas = new OffscreenCanvas(image.width, image.height).getContext("2d");
  canvas.drawImage(image, 0, 0);
  const { width, height, data } = canvas.getImageData(0, 0, image.width, image.height);
  return { width, height, data: [...data] };
}"""
DECODE_QR = """
import decodeQR from "qr/decode.js";
import { readFileSync } from "node:fs";
const { width, height, data } = JSON.parse(readFileSync(0, "utf8"));
process.stdout.write(decodeQR({ width, height, data: Uint8Array.from(data) }));
"""


def read_qr(picture: Locator) -> str:
    """Decode a screenshot of a QR code."""
    png = base64.b64encode(picture.screenshot()).decode()
    decoded = subprocess.run(
        [build.node(), "--input-type=module", "-e", DECODE_QR],
        cwd=build.SOURCES,
        input=json.dumps(picture.evaluate(READ_PIXELS, png)),
        capture_output=True,
        text=True,
        check=True,
    )
    return decoded.stdout
