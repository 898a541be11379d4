"""The dealer's page: a full round of every rulebook in the browser, and what goes wrong in one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.screens.at_table import AtTable, money
from tests.screens.browser import Person
from tests.screens.house import GAMES, House

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser, Page

ROLL = (2, 4, 6)
"""What the dice show; a slip of the finger enters 2-4-5."""

TAPPED = {"crown": "single:crown", "triple": "single:crown"}
VOIDING = {"crown": None, "triple": None}
"""Rulebooks without an irregularity that voids a round by itself; it can be abandoned."""


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    served = House(tmp_path_factory.mktemp("dealers"))
    yield served
    served.stop()


@pytest.fixture(scope="module")
def windows(browser: Browser, house: House) -> Iterator[Callable[[str], Page]]:
    """Returns everybody's window, opened once; none of them may have complained."""
    people: dict[str, Person] = {}

    def of(who: str) -> Page:
        if who not in people:
            people[who] = Person(browser, house)
            people[who].sign_in(who)
        return people[who].page

    yield of
    complaints = [each for person in people.values() for each in person.complaints]
    for person in people.values():
        person.context.close()
    assert not complaints, complaints


@pytest.fixture
def at(house: House, windows: Callable[[str], Page]) -> Callable[[str], AtTable]:
    """Returns how to bring dealer, supervisor and player to a table."""

    def bring(table: str) -> AtTable:
        pages = {who: windows(who) for who in ("dealer", "supervisor", "player")}
        for who in ("dealer", "supervisor"):
            pages[who].goto(f"/deal/{table}")
        pages["player"].goto(f"/table/{table}")
        return AtTable(house, table, pages["dealer"], pages["supervisor"], pages["player"])

    return bring


# --- a round of every rulebook ------------------------------------------------------------------


@pytest.mark.parametrize("table", GAMES)
def test_dealer_player_and_supervisor_complete_a_full_round(
    table: str, at: Callable[[str], AtTable], windows: Callable[[str], Page]
) -> None:
    here = at(table)
    seat(here)
    pass_checks(here)
    begin(here)
    bets(here)
    to_the_call(here)
    called_and_entered_wrongly(here)
    settled = settle(here)
    voided(here)
    damaged_dice(here, windows, settled)


def seat(here: AtTable) -> None:
    here.house.seat(here.table)
    expect(here.dealer.locator("[data-player]")).to_have_count(1)
    here.agrees()


def pass_checks(here: AtTable) -> None:
    """The supervisor goes through what the rules ask before opening; the dealer may not."""
    for check in here.view()["checks_missing"]:
        expect(here.dealer.get_by_test_id("checks")).to_contain_text("For: supervisor")
        here.supervisor.locator(f"[data-check={check}]").click()
        expect(here.supervisor.locator(f"[data-check={check}]")).to_have_count(0)
    assert not here.view()["checks_missing"]


def begin(here: AtTable) -> None:
    """Take the steps up to the opening of betting, in the words of the rulebook."""
    steps = here.game()["conduct"]["procedure"]["steps"]
    while (step := here.next_step()) != "close-betting":
        if step == "offer-dice":
            here.dealer.keyboard.press("1")
            expect(here.dealer.get_by_test_id("wait")).to_contain_text("3 of 5 dice")
        elif step == "choose-dice":
            for die in (1, 3, 5):
                here.player.get_by_role("button", name=f"Die {die}", exact=True).click()
            here.player.get_by_test_id("shooter").locator("button.primary").click()
            expect(here.dealer.locator("[data-step=choose-dice]")).to_have_attribute(
                "data-standing", "done"
            )
        else:
            words = steps[step].get("announces")
            if words:
                expect(here.dealer.get_by_test_id("say")).to_contain_text(words)
            here.take(step)


def bets(here: AtTable) -> None:
    """The player taps on his felt, and more of his bets come over the API."""
    boxes = [box["id"] for box in here.game()["boxes"]]
    here.bet(TAPPED.get(here.table, "big"), times=2)
    me = here.house.id("player")
    for box in boxes[::5]:
        if box != "shooter":
            send = here.house.send
            send("player", here.table, "PlaceBet", player=me, box=box, amount=here_amount(here))
    if "shooter" in boxes:
        here.house.send("player", here.table, "PlaceBet", player=me, box="shooter", amount=500)
    here.agrees()


def here_amount(here: AtTable) -> int:
    """A stake that every box of the table can be paid on."""
    return 100 * max(int(box["unit"]) for box in here.game()["boxes"])


def to_the_call(here: AtTable) -> None:
    while (step := here.next_step()) != "call-result":
        if step == "throw" and here.view()["shooter"]:
            expect(here.dealer.get_by_test_id("wait")).to_be_visible()
            here.player.get_by_test_id("shooter").locator("button.throw").click()
            expect(here.dealer.locator("[data-step=throw]")).to_have_attribute(
                "data-standing", "done"
            )
        else:
            here.take(step)


def called_and_entered_wrongly(here: AtTable) -> None:
    """A wrong number is entered, or called where nothing is; a supervisor agrees to amend it."""
    conduct = here.game()["conduct"]
    enters = "enter-result" in conduct["procedure"]["steps"]
    amends = "wrong-entry" in conduct["irregularities"]
    right, wrong = "".join(map(str, ROLL)), "245"
    call(here, right if enters or not amends else wrong)
    if enters:
        assert here.next_step() == "enter-result"
        here.press(wrong)
        assert here.view()["round"]["keys"] == [2, 4, 5]
        here.dealer.keyboard.press("Enter")
        expect(here.dealer.locator("[data-step=enter-result]")).to_have_attribute(
            "data-standing", "done"
        )
    if amends:
        amend(here, right)
    assert tuple(here.view()["round"]["result"]) == ROLL
    here.agrees()


def call(here: AtTable, faces: str) -> None:
    words = here.game()["calls"][index(faces)]
    here.press(faces)
    expect(here.dealer.get_by_test_id("words")).to_have_text(words)
    here.dealer.keyboard.press("Enter")
    expect(here.dealer.get_by_test_id("called")).to_contain_text(words)


def index(faces: str) -> int:
    a, b, c = map(int, faces)
    return (a - 1) * 36 + (b - 1) * 6 + c - 1


def amend(here: AtTable, faces: str) -> None:
    if "illuminate" in here.game()["conduct"]["procedure"]["steps"]:
        expect(here.dealer.get_by_test_id("next")).to_be_disabled()
    here.dealer.keyboard.press("a")
    dialog = here.dealer.get_by_role("dialog")
    for face in faces:
        dialog.get_by_test_id("picked").wait_for()
        here.dealer.keyboard.press(face)
    expect(dialog.get_by_test_id("picked")).to_have_attribute("data-faces", faces)
    dialog.get_by_test_id("confirm").click()
    expect(here.dealer.get_by_test_id("request")).to_contain_text("Waiting for a second person")
    here.approve(here.supervisor, "Amend the result to")
    decided = here.dealer.locator("[data-testid=request][data-state=approved]")
    expect(decided).to_contain_text("Approved")
    decided.get_by_role("button").click()


def settle(here: AtTable) -> int:
    """Light, collect and pay as the sheet says; returns the round that was settled."""
    number: int = here.view()["round"]["number"]
    if here.next_step() == "illuminate":
        lit = here.dealer.get_by_test_id("lit").locator("[data-box]")
        expect(lit).to_have_count(len(here.sheet()["lit"]))
        shown = lit.evaluate_all("all => all.map((each) => each.dataset.box)")
        assert shown == here.sheet()["lit"]
        here.take("illuminate")
    sheet = here.sheet()
    assert sheet["collect"], "the test needs losers"
    assert sheet["pay"], "the test needs winners"
    lists(here, "collect", [(each["spot"], money(each["amount"])) for each in sheet["collect"]])
    here.take("collect-losers")
    pays = [
        (each["spot"], f"{money(each['stake'])} + {money(each['winnings'])}")
        for each in sheet["pay"]
    ]
    lists(here, "pay", pays)
    total = sum(each["winnings"] for each in sheet["pay"])
    expect(here.dealer.get_by_test_id("next")).to_contain_text(money(total))
    here.dealer.keyboard.press("n")
    expect(here.dealer.get_by_test_id("round")).to_have_text("Between rounds")
    here.agrees()
    assert here.house.result_of(here.table, number) == ROLL
    return number


def lists(here: AtTable, name: str, expected: list[tuple[str, str]]) -> None:
    """See that a list of the dealer's has these spots and amounts, in this order."""
    rows = here.dealer.get_by_test_id(name).locator("li[data-spot]")
    expect(rows.locator(".number")).to_have_text([amount for _, amount in expected])
    spots = rows.evaluate_all("all => all.map((each) => each.dataset.spot)")
    assert spots == [spot for spot, _ in expected]


def voided(here: AtTable) -> None:
    """In the next round a die does not lie flat; where that voids nothing, it is abandoned."""
    stack = here.view()["seats"][here.house.id("player")]["stack"]
    begin(here)
    here.bet(TAPPED.get(here.table, "big"))
    if here.table in VOIDING:
        here.dealer.get_by_role("button", name="Table…").click()
        dialog = here.dealer.get_by_role("dialog")
        dialog.get_by_label("Reason").fill("the dice are lost")
        dialog.get_by_role("button", name="Abandon the round").click()
    else:
        while here.next_step() != "call-result":
            here.take(here.next_step())
        dialog = here.report(here.dealer, "dice-not-flat")
        expect(dialog).to_contain_text("This round is void")
        expect(dialog).to_contain_text("All bets are returned")
        dialog.get_by_test_id("confirm").click()
    notice = here.dealer.get_by_test_id("notice")
    expect(notice).to_contain_text("is void")
    view = here.agrees()
    assert view["round"] is None
    assert view["seats"][here.house.id("player")]["stack"] == stack
    notice.get_by_role("button").click()
    release(here)


def release(here: AtTable) -> None:
    """A table that the irregularity has locked is released by a supervisor."""
    if not here.view()["locked"]:
        return
    expect(here.dealer.get_by_test_id("locked")).to_be_visible()
    here.supervisor.get_by_test_id("locked").get_by_role("button").click()
    dialog = here.supervisor.get_by_role("dialog")
    dialog.get_by_label("Reason").fill("seen to")
    dialog.get_by_role("button", name="Release the table").click()
    expect(here.dealer.get_by_test_id("locked")).to_have_count(0)


def damaged_dice(here: AtTable, windows: Callable[[str], Page], settled: int) -> None:
    """A damaged die voids a settled round: a supervisor reports it, another agrees."""
    if "dice-damaged" not in here.game()["conduct"]["irregularities"]:
        expect(here.supervisor.locator("[data-irregularity=dice-damaged]")).to_have_count(0)
        return
    me = here.house.id("player")
    bought, before = 100_000, here.view()["seats"][me]
    dialog = here.report(here.dealer, "dice-damaged")
    expect(dialog.get_by_test_id("confirm")).to_have_count(0)
    here.dealer.keyboard.press("Escape")
    dialog = here.report(here.supervisor, "dice-damaged")
    dialog.get_by_label(f"Round {settled}").check()
    dialog.get_by_test_id("confirm").click()
    another = windows("supervisor2")
    another.goto(f"/deal/{here.table}")
    here.approve(another, f"Damaged die: Round {settled}")
    expect(here.dealer.get_by_test_id("notice")).to_contain_text(f"Round {settled}")
    after = here.agrees(here.dealer, here.supervisor, another)["seats"][me]
    assert before["stack"] != bought
    assert after["stack"] == bought
