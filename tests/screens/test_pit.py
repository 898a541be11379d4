"""The pit console of supervisors, managers, administrators and auditors, compared with the API."""

from __future__ import annotations

import csv
import re
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.screens.browser import (
    accessibility_violations,
    assert_soon,
    format_amount,
    is_wider_than_screen,
    text_of,
    wait_until_loaded,
)
from tests.screens.house import House, house_toml
from tests.screens.house_server import PASSWORD
from threedice.log.stores.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page

    from tests.screens.browser import NewUser

GAMES = {
    "figures": "sg-rws-tai-sai-v6/c",
    "heat": "sg-rws-tai-sai-v6/a",
    "limits": "sg-rws-tai-sai-v6/a",
    "ruled": "sg-rws-tai-sai-v6/a",
    "steps": "sg-rws-tai-sai-v6/a",
    "opening": "nz-tai-sai-2008/1",
    "locked": "nz-tai-sai-2008/1",
}
"""A table for each group of tests, which lock, open and close them."""

READ_ROLLS = "all => all.map((each) => each.dataset.roll)"
READ_AREAS = "all => all.map((each) => each.dataset.area)"


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with House(tmp_path_factory.mktemp("pit"), house_toml(GAMES)) as house:
        for table in ("figures", "heat", "limits", "ruled", "steps"):
            house.buy_in(table)
        play_round(house, "figures", (6, 5, 4), big=5_000, single_4=2_000)
        play_round(house, "figures", (1, 1, 2), big=5_000, total_9=1_000)
        yield house


def play_round(house: House, table: str, roll: tuple[int, int, int], **bets: int) -> int:
    """Play a round with bets of the player, `total_9` for `total:9`, and return its number."""
    place_bets(house, table, roll, **bets)
    house.deal(table, roll)
    number: int = house.get(f"/api/tables/{table}")["rounds"]
    return number


def place_bets(house: House, table: str, roll: tuple[int, int, int], **bets: int) -> None:
    """Open betting and place bets of the player."""
    house.deal(table, roll, until="close-betting")
    for box, amount in bets.items():
        bet = {"player": house.account_id("player"), "box": box.replace("_", ":"), "amount": amount}
        house.send("player", table, "PlaceBet", **bet)


# --- figures and reports ------------------------------------------------------------------------


def shift_report(house: House) -> Any:
    """Return the shift report of the table with two rounds, once it includes both."""
    return house.get_until("/api/tables/figures/shift", lambda report: report["rounds"] == 2)


def test_floor_view_shows_the_figures_of_the_shift_report(house: House, new_user: NewUser) -> None:
    report = shift_report(house)

    page = new_user(house).sign_in("supervisor", "/pit")

    row = page.get_by_test_id("floor-figures")
    expect(row.get_by_test_id("turnover")).to_have_text(format_amount(report["turnover"]))
    expect(row.get_by_test_id("drop")).to_have_text(format_amount(report["drop"]))
    expect(row.get_by_test_id("win")).to_have_text(format_amount(report["win"], sign=True))
    expect(row.get_by_test_id("hold")).to_contain_text(f"{report['hold_percent']:.1f} %")
    expect(row.get_by_test_id("theory")).to_have_text(
        format_amount(round(Fraction(report["theoretical_win"])))
    )
    low, high = report["band_low"], report["band_high"]
    expect(row.get_by_test_id("band")).to_have_text(
        f"{format_amount(low)} to {format_amount(high)}"
    )
    inside = low <= report["win"] <= high
    expect(row.get_by_test_id("judged")).to_contain_text(
        "Within the band" if inside else "the band"
    )
    expect(page.get_by_test_id("house-turnover")).to_have_text(format_amount(report["turnover"]))


def test_downloaded_csv_report_matches_the_api(house: House, new_user: NewUser) -> None:
    shift_report(house)
    page = new_user(house).sign_in("shift-manager", "/pit?view=report")
    expect(page.get_by_test_id("report-figures").get_by_test_id("turnover")).to_have_text("130.00")

    with page.expect_download() as download:
        page.get_by_role("button", name="Download CSV").click()

    text = download.value.path().read_text(encoding="utf-8-sig")
    lines = {line["table"]: line for line in csv.DictReader(text.splitlines())}
    assert [*lines] == [*sorted(GAMES), "*"]
    report, line = house.get("/api/tables/figures/shift"), lines["figures"]
    for name in ("fills", "credits", "drop", "turnover", "win"):
        assert Fraction(line[name]) * 100 == report[name]
    assert Fraction(line["theoretical_win"]) * 100 == round(Fraction(report["theoretical_win"]))
    for each in ("band_low", "band_high"):
        assert Fraction(line[each]) * 100 == report[each]
    assert (line["rounds"], line["hold_percent"]) == ("2", f"{report['hold_percent']:.2f}")
    assert lines["*"]["turnover"] == line["turnover"]


def test_report_covers_the_chosen_gaming_day(house: House, new_user: NewUser) -> None:
    shift_report(house)
    page = new_user(house).sign_in("supervisor", "/pit?view=report")
    expect(page.get_by_test_id("report-figures").get_by_test_id("turnover")).to_have_text("130.00")

    page.get_by_role("button", name="Last gaming day").click()

    expect(page.get_by_test_id("report-figures").get_by_test_id("turnover")).to_have_text("0.00")


def test_printed_report_has_no_controls_and_its_sum_once_after_the_last_table(
    house: House, new_user: NewUser
) -> None:
    page = new_user(house).sign_in("pit-manager", "/pit?view=report")
    expect(page.get_by_test_id("report-figures")).to_be_visible()
    page.emulate_media(media="print")
    expect(page.locator("header, nav, form, button").locator("visible=true")).to_have_count(0)
    # A foot of a table is repeated on every sheet of paper, above the tables that follow.
    expect(page.locator("tfoot")).to_have_css("display", "table-row-group")
    expect(page.get_by_text("Shift manager: ___")).to_be_visible()


def test_heat_map_shows_the_exposure_of_every_roll(house: House, new_user: NewUser) -> None:
    page = new_user(house).sign_in("supervisor", "/pit/heat")
    expect(page.get_by_text("No bets lie on the layout")).to_be_visible()

    place_bets(house, "heat", (1, 2, 3), big=5_000, triple_6=300, single_4=2_000)

    exposure = house.get("/api/tables/heat/exposure")
    expect(page.get_by_test_id("worst-net")).to_have_text(
        format_amount(exposure["worst"], sign=True)
    )
    expect(page.get_by_test_id("best-net")).to_have_text(format_amount(exposure["best"], sign=True))
    worst = exposure["nets"].index(exposure["worst"])
    expect(page.get_by_test_id("worst-roll")).to_have_attribute("data-roll", str(worst))
    marked = page.locator("[role=gridcell].worst")
    assert_soon(
        page,
        lambda: [int(roll) for roll in marked.evaluate_all(READ_ROLLS)],
        [roll for roll, net in enumerate(exposure["nets"]) if net == exposure["worst"]],
    )
    assert_soon(
        page, lambda: nets_shown(page), [format_amount(net, sign=True) for net in exposure["nets"]]
    )
    page.locator("[role=gridcell]").first.focus()
    page.keyboard.press("End")
    expect(page.locator("[data-roll='215']:focus")).to_be_visible()
    pair = house.get("/api/tables/heat/room")["differential"][0]
    used = abs(pair["totals"][0] - pair["totals"][1])
    expect(page.get_by_test_id("differential-big")).to_contain_text(
        f"{format_amount(used)} of {format_amount(pair['limit'])}"
    )
    expect(page.get_by_test_id("differential-big")).to_contain_text(
        f"{format_amount(pair['limit'] - used)} left"
    )


def nets_shown(page: Page) -> list[str]:
    """Return the amount in each cell of the heat map."""
    cells = page.locator("[role=gridcell] .hidden-visually").all_inner_texts()
    return [each.split(": ")[1].split(", Worst")[0].split(", Best")[0] for each in cells]


# --- requests and approvals ---------------------------------------------------------------------


def test_limits_requested_by_one_supervisor_apply_once_another_approves(
    house: House, new_user: NewUser
) -> None:
    requester = new_user(house).sign_in("supervisor", "/pit/limits?view=limits")
    requester.get_by_label("Maximum: Big").fill("2500")
    requester.get_by_label("A box with limits of its own").select_option("total:9")
    requester.get_by_role("button", name="Add").click()
    requester.get_by_label("Maximum: Total 9").fill("400")
    requester.get_by_label("Big / Small").fill("5000")
    expect(requester.get_by_test_id("changes").get_by_role("listitem")).to_have_count(3)
    requester.get_by_label("Reason").fill("a busy evening")
    requester.get_by_role("button", name="Ask for approval").click()
    expect(requester.get_by_text("A second person has to approve it.")).to_be_visible()

    requester.goto("/pit?view=approvals")
    own = requester.get_by_test_id("request")
    expect(own).to_contain_text("Your own request")
    expect(own.get_by_role("button", name="Approve")).to_have_count(0)
    before = house.get("/api/tables/limits")["limits"]

    approver = new_user(house).sign_in("supervisor2", "/pit?view=approvals")
    request = approver.get_by_test_id("request")
    expect(request).to_contain_text("supervisor, supervisor")
    expect(request).to_contain_text("a busy evening")
    expect(request).to_contain_text("1 to 1,000 → 1 to 2,500")
    request.get_by_role("button", name="Approve").click()
    expect(approver.get_by_text("Approved and carried out.")).to_be_visible()
    expect(requester.get_by_test_id("request")).to_have_count(0)

    view = house.get("/api/tables/limits")
    assert view["limits"] == before
    expected = before | {
        "families": before["families"] | {"big": {"minimum": 100, "maximum": 250_000}},
        "boxes": {"total:9": {"minimum": 100, "maximum": 40_000}},
        "differential": before["differential"] | {"big": 500_000},
    }
    assert view["next_limits"] == expected
    requester.goto("/pit/limits?view=limits")
    expect(requester.get_by_text("The new limits hold when betting opens next.")).to_be_visible()
    place_bets(house, "limits", (1, 2, 3))
    assert house.get("/api/tables/limits")["limits"] == expected
    expect(requester.get_by_label("Maximum: Big")).to_have_value("2,500")


def test_only_an_approved_correction_is_paid(house: House, new_user: NewUser) -> None:
    number, player = play_round(house, "ruled", (6, 5, 4), big=1_000), house.account_id("player")
    stack = house.get("/api/tables/ruled")["seats"][player]["stack"]
    requester = new_user(house).sign_in("supervisor", "/pit/ruled?view=decisions")
    approver = new_user(house).sign_in("pit-manager", "/pit/ruled?view=approvals")

    decisions = {"a slip": ("Decline", "Declined."), "paid short": ("Approve", "carried out.")}
    for reason, (button, done) in decisions.items():
        form = requester.locator("form").filter(has_text="Ask for approval")
        form.get_by_label("Round").fill(str(number))
        form.get_by_label("player Seat 1 · Card").check()
        form.get_by_label("Amount").fill("12")
        form.get_by_label("Reason").fill(reason)
        form.get_by_role("button", name="Ask for approval").click()
        request = approver.get_by_test_id("request").filter(has_text=reason)
        summary = f"Correct round {number} for Seat 1 · player by +12.00"
        expect(request).to_contain_text(summary)
        of_all_tables = new_user(house).sign_in("shift-manager", "/pit?view=approvals")
        expect(of_all_tables.get_by_test_id("request").first).to_contain_text(summary)
        expect(request.get_by_test_id("effect")).to_contain_text("player+12.00")
        expect(request.get_by_test_id("effect")).to_contain_text("House-12.00")
        request.get_by_label("Note on your decision").fill("seen")
        request.get_by_role("button", name=button).click()
        expect(approver.get_by_text(done)).to_be_visible()
        expect(request).to_have_count(0)

    after = house.get("/api/tables/ruled")["seats"][player]["stack"]
    assert after == stack + 1_200
    lines = house.get(f"/api/accounts/{player}/statement")
    assert not any(line["note"] == "a slip" for line in lines)

    decided = approver.get_by_test_id("decided").get_by_role("listitem")
    expect(decided).to_have_count(2)
    expect(decided.first).to_contain_text("Approved by pit-manager")
    approver.get_by_label("Find in everything").fill("A SLIP")
    expect(decided).to_have_count(1)
    expect(decided).to_contain_text("Declined by pit-manager")
    approver.get_by_label("Who asked or decided").fill("auditor")
    expect(approver.get_by_text("No decided request is found.")).to_be_visible()
    approver.goto("/pit?view=approvals")
    approver.get_by_role("combobox", name="Table").select_option("ruled")
    expect(decided).to_have_count(2)


def test_badge_in_the_header_counts_the_requests_that_the_user_may_decide(
    house: House, new_user: NewUser
) -> None:
    limits = house.get("/api/tables/heat")["limits"]
    request = house.client("supervisor").post(
        "/api/tables/heat/requests",
        json={"command": {"type": "SetLimits", "limits": limits}, "reason": "a quiet night"},
    )
    assert request.is_success, request.text
    pages = {
        who: new_user(house, size).sign_in(who, path)
        for who, size, path in (
            ("supervisor", "desk", "/pit"),
            ("auditor", "desk", "/pit?view=approvals"),
            ("dealer", "desk", "/deal/heat"),
            ("player", "phone", "/"),
            ("pit-manager", "phone", "/odds"),
            ("supervisor2", "desk", "/account"),
        )
    }
    for who in ("pit-manager", "supervisor2"):
        badge = pages[who].get_by_test_id("request-badge")
        expect(badge).to_be_visible()
        expect(badge).to_have_text(re.compile("1.*Waiting for you: 1", re.DOTALL))
        assert accessibility_violations(pages[who]) == []
    expect(pages["auditor"].get_by_test_id("request")).to_contain_text("a quiet night")
    expect(pages["auditor"].get_by_text("It changes no player’s money.")).to_be_visible()
    expect(pages["supervisor"].get_by_role("heading", level=1)).to_have_count(1)
    for who in ("supervisor", "auditor", "dealer", "player"):
        expect(pages[who].get_by_test_id("request-badge")).to_have_count(0)

    pages["pit-manager"].get_by_test_id("request-badge").click()
    pages["pit-manager"].get_by_role("button", name="Decline").click()
    for who in ("pit-manager", "supervisor2"):
        expect(pages[who].get_by_test_id("request-badge")).to_have_count(0)


def test_staff_without_an_assignment_work_at_no_table(house: House, new_user: NewUser) -> None:
    (assignment,) = [
        each["id"]
        for each in house.get("/api/assignments", "administrator")
        if each["account"] == house.account_id("game-supervisor")
    ]
    page = new_user(house).sign_in("administrator", "/pit?view=people")
    row = page.get_by_role("row").filter(has=page.get_by_role("rowheader", name="game-supervisor"))
    expect(row.get_by_test_id("works-at")).to_have_text("all tables")
    house.client("administrator").delete(f"/api/assignments/{assignment}").raise_for_status()
    page.reload()
    expect(row.get_by_test_id("works-at")).to_have_text("no table now")
    other = new_user(house).sign_in("game-supervisor", "/account")
    expect(other.get_by_test_id("works-at")).to_have_text("no table: nobody has assigned you now")


def test_only_a_shift_manager_makes_a_ruling(house: House, new_user: NewUser) -> None:
    player = house.account_id("player")
    other = new_user(house).sign_in("supervisor", "/pit/ruled?view=decisions")
    expect(other.get_by_text("Only a shift manager makes rulings.")).to_be_visible()
    before = house.get("/api/tables/ruled")["seats"][player]["stack"]

    page = new_user(house).sign_in("shift-manager", "/pit/ruled?view=decisions")
    form = page.locator("form").filter(has=page.get_by_role("button", name="Make the ruling"))
    form.get_by_label("player Seat 1 · Card").check()
    form.get_by_label("Take from the player").check()
    form.get_by_label("Amount").fill("5")
    form.get_by_label("Reason").fill("found on the floor")
    form.get_by_role("button", name="Make the ruling").click()

    expect(page.get_by_text("The ruling is made: -5.00.")).to_be_visible()
    assert house.get("/api/tables/ruled")["seats"][player]["stack"] == before - 500


def test_ruling_above_the_amount_for_one_person_is_made_after_an_approval(
    house: House, new_user: NewUser
) -> None:
    player = house.account_id("player")
    before = house.get("/api/tables/ruled")["seats"][player]["stack"]
    page = new_user(house).sign_in("shift-manager", "/pit/ruled?view=decisions")
    form = page.locator("form").filter(has=page.get_by_role("button", name="Make the ruling"))
    form.get_by_label("player Seat 1 · Card").check()
    form.get_by_label("Amount").fill("500")
    form.get_by_label("Reason").fill("a die fell off the table")
    form.get_by_role("button", name="Make the ruling").click()

    note = page.get_by_role("alert").filter(has_text="second person")
    expect(note.get_by_label("Reason")).to_have_value("a die fell off the table")
    note.get_by_label("Reason").fill("agreed with the player")
    note.get_by_role("button", name="Ask for approval").click()
    expect(note.get_by_text("Asked for.")).to_be_visible()
    approver = new_user(house).sign_in("pit-manager", "/pit?view=approvals")
    request = approver.get_by_test_id("request").filter(has_text="agreed with the player")
    expect(request).to_contain_text("Ruling for Seat 1 · player: +500.00")
    request.get_by_role("button", name="Approve").click()
    expect(approver.get_by_text("carried out.")).to_be_visible()
    assert house.get("/api/tables/ruled")["seats"][player]["stack"] == before + 50_000


def test_pit_shows_who_may_act_alone_and_up_to_which_amount(
    house: House, new_user: NewUser
) -> None:
    page = new_user(house).sign_in("supervisor", "/pit?view=approvals")
    page.get_by_text("Who may act alone, and who with whom").click()

    row = page.get_by_test_id("authority").get_by_role("row").filter(has_text="MakeRuling")
    expect(row).to_contain_text("alone up to 100.00 per table in 24 hours")
    expect(row).to_contain_text("at most 10,000.00")


# --- replay of a round --------------------------------------------------------------------------


def test_round_replay_shows_the_table_at_every_step(house: House, new_user: NewUser) -> None:
    number = play_round(house, "steps", (6, 5, 4), big=1_000, small=500, total_9=300)
    play_round(house, "steps", (1, 2, 3), big=700)
    events = house.get(f"/api/tables/steps/rounds/{number}")["events"]
    page = new_user(house).sign_in("auditor", f"/pit/steps?view=rounds&round={number}")
    expect(page.get_by_test_id("step-words")).to_have_text("The round begins")
    page.get_by_role("button", name="One step forward").focus()

    bets: dict[str, int] = {}
    for position, entry in enumerate(events):
        event = entry["event"]
        if event["type"] == "BetPlaced":
            bets[event["spot"]] = bets.get(event["spot"], 0) + event["amount"]
        if event["type"] == "WinnersPaid":
            bets = {}
        expect(page.get_by_test_id("step-number")).to_contain_text(
            f"{position + 1} / {len(events)}"
        )
        expect(page.get_by_test_id("step-total")).to_have_text(format_amount(sum(bets.values())))
        expect(page.get_by_test_id("step-bet")).to_have_count(len(bets))
        page.keyboard.press("ArrowRight")

    expect(page.get_by_test_id("step-dice")).to_have_attribute("data-dice", "6-5-4")
    page.keyboard.press("Home")
    expect(page.get_by_test_id("step-words")).to_have_text("The round begins")
    expect(page.get_by_text("No dice yet")).to_be_visible()
    page.get_by_role("slider", name="Step").press("End")
    expect(page.get_by_test_id("step-words")).to_have_text("Winners paid: 1, 10.00 in all")
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_test_id("step-words")).to_have_text("Losers collected: 2, 8.00 in all")
    lit = [event["event"]["boxes"] for event in events if "boxes" in event["event"]][-1]
    shown = page.locator("[data-area].lit, [data-area][data-lit]")
    expect(shown).to_have_count(len(lit))  # a frame lights a few lamps only
    assert_soon(
        page, lambda: {area.split("@")[0] for area in shown.evaluate_all(READ_AREAS)}, {*lit}
    )


# --- running a table ----------------------------------------------------------------------------


def test_supervisor_opens_fills_credits_and_closes_a_table(house: House, new_user: NewUser) -> None:
    page = new_user(house).sign_in("supervisor", "/pit/opening?view=running")
    for left in (4, 3, 2, 1):
        expect(page.get_by_test_id("checks-left")).to_contain_text(f"{left} still to be seen to")
        page.get_by_role("button", name="It is in order").first.click()
    expect(page.get_by_test_id("checks-left")).to_have_text("Everything has been seen to.")
    assert house.get("/api/tables/opening")["checks_missing"] == []

    before = house.get("/api/tables/opening")["float_amount"]
    page.get_by_label("Amount").fill("2,000")
    page.get_by_role("button", name="Fill from the vault").click()
    expect(page.get_by_test_id("float")).to_have_text(format_amount(before + 200_000))
    page.get_by_label("Amount").fill("500")
    page.get_by_role("button", name="Credit to the vault").click()
    expect(page.get_by_test_id("float")).to_have_text(format_amount(before + 150_000))

    page.get_by_role("button", name="Close the table").click()
    page.get_by_role("dialog").get_by_role("button", name="Close the table").click()
    expect(page.get_by_role("heading", name="Open the table")).to_be_visible()
    assert not house.get("/api/tables/opening")["open"]

    page.get_by_label("Float").fill("10000000")
    page.get_by_role("button", name="Open the table").click()
    expect(page.get_by_test_id("checks-left")).to_contain_text("4 still to be seen to")
    view = house.get("/api/tables/opening")
    assert (view["open"], view["float_amount"]) == (True, 1_000_000_000)


def test_locked_table_is_released_with_a_reason(house: House, new_user: NewUser) -> None:
    house.pass_checks("locked")
    house.send("dealer", "locked", "Report", irregularity="equipment-malfunction")
    page = new_user(house).sign_in("supervisor", "/pit")

    malfunction = page.get_by_test_id("locked-locked")
    expect(malfunction).to_contain_text("Locked: Malfunction")
    malfunction.get_by_label("Reason").fill("the tumbler was changed")
    malfunction.get_by_role("button", name="Release the table").click()

    expect(page.get_by_text("Locked is released.")).to_be_visible()
    expect(malfunction).to_have_count(0)
    assert house.get("/api/tables/locked")["locked"] == []


def test_shift_manager_resumes_a_suspended_house(
    tmp_path_factory: pytest.TempPathFactory, new_user: NewUser
) -> None:
    folder = tmp_path_factory.mktemp("suspended")
    with House(folder, house_toml({"1": "sg-rws-tai-sai-v6/a"})) as house:
        house.kill()
        store = SqliteStore(folder / "house.db")
        store.suspend("the disk was full")
        store.close()
        house.start()
        supervisor_page = new_user(house).sign_in("supervisor", "/pit")
        expect(supervisor_page.get_by_text("A shift manager lets it write again.")).to_be_visible()

        page = new_user(house).sign_in("shift-manager", "/pit")
        page.get_by_label("Reason").fill("there is room again")
        page.get_by_role("button", name="Let the house write again").click()

        expect(page.get_by_text("The house writes again.")).to_be_visible()
        assert not house.get("/api/house")["suspended"]


# --- players, accounts, the log -----------------------------------------------------------------


def test_supervisor_records_a_deposit_and_a_payout_of_a_player(
    house: House, new_user: NewUser
) -> None:
    player = house.account_id("player2")
    balance = house.get(f"/api/accounts/{player}")["balance"]
    page = new_user(house).sign_in("supervisor", f"/pit?view=players&player={player}")
    expect(page.get_by_test_id("balance")).to_have_text(format_amount(balance))

    page.get_by_label("Amount").fill("250")
    page.get_by_role("button", name="Deposit").click()
    expect(page.get_by_test_id("balance")).to_have_text(format_amount(balance + 25_000))
    page.get_by_label("Amount").fill("100.50")
    page.get_by_role("button", name="Pay out").click()
    expect(page.get_by_test_id("balance")).to_have_text(format_amount(balance + 14_950))
    statement = page.locator("[data-account=house]")
    for cell, amounts in {"amount": (-10_050, 25_000), "balance": (14_950, 25_000)}.items():
        for line, amount in enumerate(amounts):
            text = format_amount(amount + (balance if cell == "balance" else 0), sign=True)
            shown = statement.locator(f"[data-cell={cell}]").nth(line)
            expect(shown).to_have_text(text.removeprefix("+") if cell == "balance" else text)

    page.emulate_media(media="print")
    controls = page.locator("header, nav, form, button, input")
    expect(controls.locator("visible=true")).to_have_count(0)
    expect(statement).to_be_visible()
    page.emulate_media(media="screen")

    page.get_by_label("Name", exact=True).fill("Ann Other")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="Ann Other")).to_be_visible()
    assert house.get(f"/api/accounts/{player}/person")["name"] == "Ann Other"


def test_administrators_add_confirm_assign_and_disable_a_dealer(
    house: House, new_user: NewUser
) -> None:
    page = new_user(house).sign_in("administrator", "/pit")
    form = page.locator("form").filter(has=page.get_by_role("button", name="Add somebody"))
    form.get_by_label("Name").fill("dora")
    form.get_by_label("dealer", exact=True).check()
    form.get_by_label("Date of birth").fill("2001-02-03")
    form.get_by_role("button", name="Add somebody").click()
    expect(page.get_by_role("dialog")).to_contain_text("second administrator must confirm dora")
    expect(page.get_by_test_id("first-password")).to_have_count(0)
    page.get_by_role("dialog").get_by_role("button", name="Close").click()

    second = new_user(house).sign_in("administrator2", "/")
    second.get_by_test_id("request-badge").click()
    expect(page.get_by_test_id("request-badge")).to_have_count(0)
    waiting = second.get_by_role("region", name="Waiting for a second administrator")
    waiting.get_by_role("listitem").filter(has_text="dora").get_by_role(
        "button", name="Confirm"
    ).click()
    password = text_of(second.get_by_test_id("first-password"))
    expect(second.get_by_role("row").filter(has_text="dora")).to_contain_text("enabled")
    second.get_by_role("dialog").get_by_role("button", name="Close").click()
    second.get_by_role("button", name="Change dora").click()
    born = second.get_by_role("dialog").get_by_label("Date of birth")
    expect(born).to_have_value("2001-02-03")
    born.fill("1990-01-31")
    second.get_by_role("button", name="Save the date of birth").click()
    expect(second.get_by_text("dora is changed.")).to_be_visible()
    second.get_by_role("button", name="Change dora").click()
    expect(second.get_by_role("dialog").get_by_label("Date of birth")).to_have_value("1990-01-31")
    page.reload()
    assignment = page.locator("form").filter(has=page.get_by_role("button", name="Assign"))
    assignment.get_by_role("combobox", name="Who").select_option("dora")
    assignment.get_by_role("combobox", name="Table").select_option("figures")
    page.get_by_role("button", name="Assign", exact=True).click()
    expect(page.get_by_role("listitem").filter(has_text="dora")).to_contain_text("figures")

    response = new_user(house).context.request.post(
        "/api/session",
        data={"name": "dora", "password": password},
        headers={"Origin": house.url},
    )
    assert response.json()["standing"] == "new-password"

    page.get_by_role("button", name="Change dora").click()
    page.get_by_role("dialog").get_by_role("button", name="Disable").click()
    expect(page.get_by_role("row").filter(has_text="dora")).to_contain_text("disabled")
    assert password != PASSWORD


def test_auditor_verifies_the_log_and_filters_the_security_trail(
    house: House, new_user: NewUser
) -> None:
    page = new_user(house).sign_in("auditor", "/pit?view=audit")

    page.get_by_role("button", name="Verify the whole log").click()

    expect(page.get_by_test_id("verdict")).to_contain_text("The log is sound")
    assert int(text_of(page.get_by_test_id("entries"))) > 100
    assert int(text_of(page.get_by_test_id("streams"))) >= len(GAMES)
    trail = page.get_by_role("region", name="Security trail")
    expect(trail.get_by_role("row").filter(has_text="signed in").first).to_be_visible()
    page.get_by_label("Kind").select_option("assigned")
    expect(trail.get_by_role("row").filter(has_text="signed in")).to_have_count(0)


def test_auditor_sees_a_table_without_controls(house: House, new_user: NewUser) -> None:
    page = new_user(house).sign_in("auditor", "/pit/figures")
    parts = page.get_by_role("navigation", name="Parts of Figures")
    expect(parts.get_by_role("link")).to_have_text(
        ["Now", "Limits", "Rounds", "Equipment", "Dice", "Dice monitor", "Approvals"]
    )
    parts.get_by_role("link", name="Limits").click()
    expect(page.get_by_label("Maximum: Big")).to_be_disabled()
    expect(page.get_by_role("button", name="Ask for approval")).to_have_count(0)


def test_player_cannot_use_the_pit_console(house: House, new_user: NewUser) -> None:
    page = new_user(house).sign_in("player", "/pit")
    expect(page.get_by_role("alert").filter(has_text="no")).to_contain_text("None of your roles")


# --- accessibility ------------------------------------------------------------------------------

VIEWS = [
    ("supervisor", "/pit"),
    ("supervisor", "/pit?view=approvals"),
    ("supervisor", "/pit?view=report"),
    ("shift-manager", "/pit?view=players&player={player}"),
    ("administrator", "/pit?view=people"),
    ("auditor", "/pit?view=audit"),
    ("supervisor", "/pit/heat"),
    ("supervisor", "/pit/opening?view=running"),
    ("supervisor", "/pit/heat?view=limits"),
    ("shift-manager", "/pit/heat?view=decisions"),
    ("supervisor", "/pit/figures?view=rounds"),
]


@pytest.mark.parametrize(("size", "lang"), [("desk", "en"), ("phone", "zh-Hant")])
def test_every_pit_view_is_accessible_and_fits_the_screen(
    house: House, new_user: NewUser, size: str, lang: str
) -> None:
    pages: dict[str, Page] = {}
    for user, view in VIEWS:
        path = view.format(player=house.account_id("player"))
        if user not in pages:
            pages[user] = new_user(house, size, lang).sign_in(user, path)
        page = pages[user]
        page.goto(path)
        expect(page.locator("main :is(h2, table):visible").first).to_be_visible()
        wait_until_loaded(page)
        assert accessibility_violations(page) == [], path
        assert not is_wider_than_screen(page), f"{path} is wider than the screen"
