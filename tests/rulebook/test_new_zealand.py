"""The clauses of New Zealand's Tai-Sai as data."""

from __future__ import annotations

import pytest

from threedice import load
from threedice.rulebook import load_rulebook

BOOK = "nz-tai-sai-2008"


def clause(*numbers: str) -> pytest.MarkDecorator:
    return pytest.mark.clause(*(f"{BOOK} {number}" for number in numbers))


@clause("3.2", "4.1(i)", "4.1(j)", "appendix:1", "appendix:2")
def test_new_zealand_has_two_layouts_with_50_and_106_boxes() -> None:
    standard, alternative = load(f"{BOOK}/1"), load(f"{BOOK}/2")

    assert (len(standard.boxes), len(alternative.boxes)) == (50, 106)
    assert sum(box.family == "pair" for box in alternative.boxes.values()) == 30
    assert sum(box.family == "trio" for box in alternative.boxes.values()) == 20
    assert sum(box.family == "four" for box in alternative.boxes.values()) == 4


@pytest.mark.parametrize(
    ("box", "roll", "clauses"),
    [
        ("small", (1, 1, 2), ("4.1(a)(i)", "4.10")),
        ("small", (2, 2, 2), ("4.1(a)(ii)",)),
        ("big", (6, 6, 5), ("4.1(b)(i)", "4.10")),
        ("big", (5, 5, 5), ("4.1(b)(ii)",)),
        ("triple:3", (3, 3, 3), ("4.1(c)(i)", "4.10")),
        ("triple:3", (3, 3, 4), ("4.1(c)(ii)",)),
        ("double:3", (3, 3, 4), ("4.1(d)(i)", "4.10")),
        ("double:3", (3, 3, 3), ("4.1(d)(ii)", "4.10")),
        ("double:3", (4, 4, 4), ("4.1(d)(iii)",)),
        ("any-triple", (4, 4, 4), ("4.1(e)(i)", "4.10")),
        ("any-triple", (4, 4, 1), ("4.1(e)(ii)",)),
        ("total:9", (3, 3, 3), ("4.1(f)(i)", "4.10")),
        ("total:9", (3, 3, 4), ("4.1(f)(ii)",)),
        ("domino:1-4", (1, 4, 4), ("4.1(g)(i)", "4.10")),
        ("domino:1-4", (1, 1, 1), ("4.1(g)(ii)",)),
        ("single:6", (6, 6, 6), ("4.1(h)(i)", "4.10")),
        ("single:6", (1, 2, 3), ("4.1(h)(ii)",)),
        ("pair:1-1-2", (1, 2, 1), ("4.1(i)(i)", "4.10")),
        ("trio:2-5-6", (6, 5, 2), ("4.1(i)(i)", "4.10")),
        ("trio:2-5-6", (6, 5, 5), ("4.1(i)(ii)",)),
        ("four:1-2-3-4", (4, 2, 1), ("4.1(j)(i)", "4.10")),
        ("four:1-2-3-4", (4, 4, 1), ("4.1(j)(ii)",)),
        ("odd", (1, 2, 2), ("4.1(k)(i)", "4.10")),
        ("odd", (3, 3, 3), ("4.1(k)(ii)",)),
        ("even", (1, 1, 2), ("4.1(l)(i)", "4.10")),
        ("even", (4, 4, 4), ("4.1(l)(ii)",)),
    ],
)
@clause(
    *(f"4.1({letter}){item}" for letter in "abcefghijkl" for item in ("", "(i)", "(ii)")),
    "4.1(d)", "4.1(d)(i)", "4.1(d)(ii)", "4.1(d)(iii)", "4.2", "4.10",
)  # fmt: skip
def test_each_outcome_cites_its_own_clause_item(
    box: str, roll: tuple[int, int, int], clauses: tuple[str, ...]
) -> None:
    cell = load(f"{BOOK}/2").cell(box, roll)

    assert cell.clauses == clauses
    assert (cell.net > 0) == ("4.10" in clauses)


@clause("4.4", "6.1", "6.2", "6.3", "6.4", "6.4(a)", "6.4(b)", "6.5", "6.5(a)", "6.5(b)", "3.4(f)")
def test_new_zealand_spin_has_nine_steps_in_order() -> None:
    procedure = load_rulebook(BOOK).book.procedure
    tumble, close = procedure.steps["tumble"], procedure.steps["close-betting"]
    supervised = ["dealer", "game-supervisor", "supervisor"]

    assert procedure.order == [
        "tumble", "open-betting", "close-betting", "uncover", "call-result", "enter-result",
        "illuminate", "collect-losers", "pay-winners",
    ]  # fmt: skip
    assert (tumble.covered, tumble.at_least, tumble.by) == (True, 3, supervised)
    assert procedure.steps["open-betting"].announces == "Place your bets"
    assert (close.announces, close.bell) == ("No more bets", True)
    assert procedure.steps["enter-result"].by == supervised


@clause("4.3", "4.6", "4.7", "4.7(a)", "4.7(b)", "4.8", "4.9")
def test_new_zealand_fixes_positions_at_the_call_and_forbids_handling_bets() -> None:
    book = load_rulebook(BOOK).book

    assert book.procedure.positions.fixed_at == "call-result"
    assert book.procedure.hands_off is not None
    assert book.irregularities["bet-after-close"].consequence == "refuse"
    assert book.irregularities["losing-bet-handled"].consequence == "refuse"
    assert book.irregularities["bet-moved"].consequence == "put-back"
    assert book.irregularities["call-bet-misplaced"].consequence == "settle-as-placed"
    assert book.irregularities["bet-misplaced"].consequence == "put-back"
    assert book.irregularities["bet-on-line"].consequence == "decide"


@clause("4.3", "4.5", "3.4(a)", "3.4(b)")
def test_new_zealand_allows_non_value_chips_and_call_bets() -> None:
    book = load_rulebook(BOOK).book

    assert book.chips.kinds == ["value", "non-value"]
    assert book.people.acts["call-bet"].by == ["player"]
    for rack in ("display-rack", "marker-buttons"):
        assert book.equipment[rack].needed == "with-non-value-chips"


@clause("7.1", "7.1(a)", "7.1(b)", "7.1(c)", "7.1(d)", "6.1")
@pytest.mark.parametrize(("reading", "bets"), [("return", "returned"), ("stand", "stand")])
def test_new_zealand_no_spin_voids_the_spin(reading: str, bets: str) -> None:
    facts = load(f"{BOOK}/1", {"no-spin": reading}).facts
    no_spin = {
        name: each for name, each in facts.irregularities.items() if each.announces == "No spin"
    }

    assert set(no_spin) == {
        "dice-not-flat", "tumbler-fault", "too-few-tumbles", "exposed-before-close", "not-tumbled",
    }  # fmt: skip
    assert {each.consequence for each in no_spin.values()} == {"void-round"}
    assert {each.bets for each in no_spin.values()} == {bets}
    assert facts.procedure.void.bets == bets


@clause("7.2", "7.3", "7.4", "7.5", "6.6", "3.4(g)")
def test_new_zealand_rules_on_wrong_entries_lights_and_malfunctions() -> None:
    book = load_rulebook(BOOK).book
    irregularities = book.irregularities

    assert irregularities["wrong-entry"].consequence == "amend"
    assert irregularities["wrong-entry"].supervised_by == ["game-supervisor", "supervisor"]
    assert irregularities["illumination-failed"].consequence == "settle-by-dice"
    assert irregularities["illumination-failed"].locks_table
    assert irregularities["equipment-malfunction"].consequence == "lock-table"
    assert irregularities["display-wrong"].consequence == "settle-by-dice"
    assert irregularities["interference"].consequence == "refuse"
    assert book.people.acts["release-table"].by == ["supervisor"]
    assert book.equipment["results-display"].needed == "optional"


@clause("5.0", "5.0(a)", "5.0(b)", "5.0(c)", "5.0(d)")
def test_new_zealand_supervisor_passes_four_checks_before_opening() -> None:
    book = load_rulebook(BOOK).book

    assert list(book.opening) == ["power", "test-runs", "tumbler", "seal"]
    assert {tuple(check.by) for check in book.opening.values()} == {("supervisor",)}
    assert book.people.acts["open-table"].by == ["supervisor"]


@clause(
    "3.1", "3.3", "3.3(a)", "3.3(a)(i)", "3.3(a)(ii)", "3.3(a)(iii)", "3.3(b)", "3.4(d)", "3.4(e)",
    "3.4(c)", "3.4(e)(i)", "3.4(e)(ii)", "3.4(e)(iii)", "3.4(e)(iv)", "3.4(e)(v)",
)  # fmt: skip
def test_new_zealand_lists_the_equipment_of_a_table() -> None:
    equipment = load_rulebook(BOOK).book.equipment

    terminal, tumbler = equipment["terminal"].detail, equipment["tumbler"].detail
    assert (terminal.keys, terminal.echo) == (6, 3)
    assert equipment["dice"].detail.count == 3
    assert tumbler.sealed
    assert equipment["change-block"].needed == "always"
    for name in ("drop-box", "lights", "terminal", "dice", "tumbler", "bell"):
        assert equipment[name].needed == "always"
