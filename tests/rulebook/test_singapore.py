"""The clauses of the two Singapore rulebooks as data."""

from __future__ import annotations

import pytest

from threedice import load
from threedice.rulebook import load_rulebook

COVERED, OPEN = "sg-rws-tai-sai-v6", "sg-rws-tai-sai-open-cover-v5"


def clause(*numbers: str) -> pytest.MarkDecorator:
    """Cite clauses of Tai Sai v6, which Open Cover inherits."""
    return pytest.mark.clause(*(f"{COVERED} {number}" for number in numbers))


@pytest.fixture(params=[COVERED, OPEN])
def book_id(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@clause("2.1.1", "appendix:A", "appendix:B", "appendix:C", "appendix:D", "appendix:E", "appendix:F")
@pytest.mark.clause(f"{OPEN} 2.1.1")
def test_singapore_has_three_layouts_with_50_104_and_107_boxes(book_id: str) -> None:
    boxes = {layout: len(load(f"{book_id}/{layout}").boxes) for layout in "ace"}

    assert list(load_rulebook(book_id).book.layouts) == ["a", "c", "e"]
    assert boxes == {"a": 50, "c": 104, "e": 107}


@clause("2.2.1")
def test_singapore_uses_three_dice_with_six_faces(book_id: str) -> None:
    book = load_rulebook(book_id).book

    assert book.dice.faces == (1, 2, 3, 4, 5, 6)
    assert book.equipment["dice"].detail.count == 3


@clause("3.2", "3.6", "5.7")
def test_singapore_betting_opens_and_closes_by_announcement(book_id: str) -> None:
    book = load_rulebook(book_id).book
    order, steps = book.procedure.order, book.procedure.steps

    assert order[:2] == ["open-betting", "close-betting"]
    assert steps["open-betting"].announces == "Place your Bets, please"
    assert steps["close-betting"].announces == "No more Bets"
    assert steps["close-betting"].by == ["dealer"]
    assert book.irregularities["bet-after-close"].consequence == "refuse"


@clause("3.7", "5.5.1")
def test_covered_dice_may_be_tumbled_before_or_after_the_close() -> None:
    steps = load(f"{COVERED}/a").facts.procedure.steps
    strict = load(f"{COVERED}/a", {"tumble": "after-close"}).facts.procedure.steps

    assert (steps["tumble"].covered, steps["tumble"].at_least) == (True, 3)
    assert steps["tumble"].as_early_as == "open-betting"
    assert strict["tumble"].as_early_as == "close-betting"


@pytest.mark.clause(f"{OPEN} 3.7")
def test_open_dice_are_tumbled_after_the_close_and_never_uncovered() -> None:
    procedure = load_rulebook(OPEN).book.procedure

    assert procedure.order.index("tumble") == procedure.order.index("close-betting") + 1
    assert (procedure.steps["tumble"].covered, procedure.steps["tumble"].at_least) == (False, 3)
    assert procedure.steps["tumble"].as_early_as is None
    assert "uncover" not in procedure.order
    assert "tumble" not in load_rulebook(OPEN).book.readings


@clause("3.8", "5.5", "5.5.1", "5.5.2", "5.5.3", "5.12")
def test_too_few_tumbles_leaning_or_exposed_dice_void_a_covered_round() -> None:
    irregularities = load_rulebook(COVERED).book.irregularities
    voiding = {name for name, each in irregularities.items() if each.consequence == "void-round"}

    assert voiding == {"too-few-tumbles", "dice-not-flat", "exposed-before-close"}
    assert {irregularities[name].bets for name in voiding} == {"returned"}
    assert load_rulebook(COVERED).book.procedure.void.bets == "returned"


@pytest.mark.clause(f"{OPEN} 5.5.3")
def test_tumble_before_the_close_voids_a_round_with_open_dice() -> None:
    irregularities = load_rulebook(OPEN).book.irregularities
    voiding = {name for name, each in irregularities.items() if each.consequence == "void-round"}

    assert voiding == {"too-few-tumbles", "dice-not-flat", "tumbled-before-close"}
    assert irregularities["tumbled-before-close"].clause == ["5.5", "5.5.3", "5.12"]


@clause("5.6")
def test_damaged_dice_void_every_affected_round(book_id: str) -> None:
    damaged = load_rulebook(book_id).book.irregularities["dice-damaged"]

    assert (damaged.consequence, damaged.bets) == ("void-affected-rounds", "returned")


@clause("3.3", "3.5", "5.1", "5.1.1", "5.1.2", "5.2", "5.2.1")
def test_limits_are_per_box_with_a_differential_and_pro_rata(book_id: str) -> None:
    limits = load(f"{book_id}/c").facts.limits

    assert limits.displayed == ["minimum", "maximum", "differential"]
    assert (limits.maximum.scope, limits.minimum.scope) == ("box", "player")
    assert limits.maximum.unnoticed == "pro-rata"
    assert limits.differential is not None
    assert limits.differential.pairs == [("big", "small"), ("odd", "even")]
    assert limits.pro_rata is not None
    assert limits.pro_rata.never_below_minimum
    assert limits.pro_rata.exempt_below_minimum


@clause("5.1")
@pytest.mark.parametrize("layout", ["a", "e"])
def test_layout_without_odd_and_even_has_one_differential_pair(layout: str) -> None:
    differential = load(f"{COVERED}/{layout}").facts.limits.differential

    assert differential is not None
    assert differential.pairs == [("big", "small")]


@clause("5.1.1", "5.2", "5.4")
def test_singapore_readings_change_limits_areas_and_interruptions(book_id: str) -> None:
    game = load(
        f"{book_id}/e",
        {
            "pro-rata": "absorb",
            "minimum": "box-total",
            "available": "placed",
            "areas": "per-area",
        },
    )

    assert game.facts.limits.pro_rata is not None
    assert game.facts.limits.pro_rata.method == "absorb"
    assert game.facts.limits.minimum.scope == "box"
    assert game.facts.limits.areas == "per-area"
    assert game.facts.irregularities["interruption"].available == "placed"
    assert game.facts.areas["big"] == ["left", "right"]
    assert "single:1" not in game.facts.areas


@clause("5.3", "5.9", "5.13")
def test_bets_are_settled_where_they_lie_at_the_close(book_id: str) -> None:
    book = load_rulebook(book_id).book

    assert book.procedure.positions.fixed_at == "close-betting"
    assert book.irregularities["walked-away"].consequence == "settle-as-placed"
    assert book.irregularities["bet-misplaced"].consequence == "settle-as-placed"


@clause("5.4", "5.4.1", "5.4.2")
def test_interrupted_round_continues_if_any_box_is_conclusive(book_id: str) -> None:
    interruption = load_rulebook(book_id).book.irregularities["interruption"]

    assert (interruption.consequence, interruption.bets) == ("continue-if-conclusive", "returned")
    assert interruption.available == "layout"


@clause("5.8", "5.10", "5.11")
def test_dice_prevail_over_displays_and_late_errors_have_no_effect(book_id: str) -> None:
    irregularities = load_rulebook(book_id).book.irregularities

    assert irregularities["illumination-failed"].consequence == "settle-by-dice"
    assert irregularities["display-wrong"].consequence == "settle-by-dice"
    assert irregularities["error-found-late"].consequence == "no-later-effect"


@clause("1.5", "5.13", "5.14")
def test_singapore_roles_may_stand_in_bet_on_behalf_and_decide(book_id: str) -> None:
    book = load_rulebook(book_id).book
    pit_employees = ["dealer", "supervisor", "pit-manager"]

    assert book.people.stand_in is not None
    assert book.people.stand_in.roles == pit_employees
    assert book.people.acts["bet-on-behalf"].by == pit_employees
    assert book.irregularities["not-provided-for"].by == ["shift-manager"]


@clause("3.9")
def test_singapore_losers_are_collected_before_winners_are_paid(book_id: str) -> None:
    assert load_rulebook(book_id).book.procedure.order[-2:] == ["collect-losers", "pay-winners"]


@clause("4.1.2", "4.1.3")
def test_singapore_layouts_omit_two_pairs_and_some_fours(book_id: str) -> None:
    c, e = load(f"{book_id}/c").boxes, load(f"{book_id}/e").boxes

    for boxes in (c, e):
        assert sum(box.family == "pair" for box in boxes.values()) == 28
        assert not {"pair:1-1-2", "pair:6-6-5"} & boxes.keys()
    assert [box for box in c if box.startswith("four:")] == [
        "four:3-4-5-6",
        "four:2-3-5-6",
        "four:2-3-4-5",
        "four:1-2-3-4",
    ]
    assert sum(box.family == "four" for box in e.values()) == 15
    assert not {"odd", "even", "double:1"} & e.keys()


@clause("3.10", "3.10.3")
def test_triple_is_settled_under_its_own_clause(book_id: str) -> None:
    game = load(f"{book_id}/c")

    assert game.cell("small", (2, 2, 2)).clauses == ("3.10",)
    assert game.cell("double:2", (2, 2, 2)).clauses == ("3.10.3", "4.1.2")
    assert game.cell("double:1", (2, 2, 2)).clauses == ("3.10",)
    assert game.cell("double:2", (2, 2, 1)).clauses == ("3.9", "4.1.2")


@clause("appendix:E")
def test_layout_e_is_double_ended() -> None:
    felt = load(f"{COVERED}/e").felt
    assert felt is not None
    ends: dict[str, set[str]] = {}
    for area in felt.areas:
        ends.setdefault(area.box, set()).add(area.id.partition("@")[2])

    at_both = {box for box, where in ends.items() if where == {"left", "right"}}
    assert {box.partition(":")[0] for box in at_both} == {
        "big", "small", "any-triple", "triple", "domino", "total",
    }  # fmt: skip
    assert len(at_both) == 3 + 6 + 15 + 14
    assert all(where == {""} for box, where in ends.items() if box not in at_both)


@clause("appendix:A")
def test_felt_of_layout_a_has_the_printed_inscriptions() -> None:
    felt = load(f"{COVERED}/a").felt
    assert felt is not None
    areas = {area.box: area for area in felt.areas}

    assert areas["big"].en[0] == "BIG"
    assert areas["big"].zh == ("大", "11點至17點", "一贏一", "圍骰通吃")
    assert areas["big"].odds == "1 WINS 1"
    assert areas["total:17"].odds == "1\\62"
    assert areas["double:6"].en == ("DOUBLE SIX",)
    assert areas["double:6"].dice == (6, 6)
    assert areas["domino:5-6"].en == ("5 AND 6",)
    assert "EACH DOUBLE 1 WINS 11" in {line for each in felt.inscriptions for line in each.en}


def boxes_by_row(layout: str) -> list[list[str]]:
    """Return the boxes of a felt row by row, each from the left."""
    felt = load(f"{COVERED}/{layout}").felt
    assert felt is not None
    rows: dict[int, list[tuple[int, str]]] = {}
    for area in felt.areas:
        rows.setdefault(area.y, []).append((area.x, area.box))
    return [[box for _, box in sorted(row)] for _, row in sorted(rows.items())]


@clause("appendix:A", "appendix:B")
def test_rows_of_layout_a_match_the_appendix() -> None:
    top, doubles, *_, totals, dominoes, singles = boxes_by_row("a")

    assert top == ["big", "small"]
    assert doubles == ["double:6", "double:5", "double:4", "triple:4", "any-triple", "triple:1",
                       "double:3", "double:2", "double:1"]  # fmt: skip
    assert totals == [f"total:{total}" for total in range(17, 3, -1)]
    drawn = "5-6 4-6 4-5 3-6 3-5 3-4 2-6 2-5 2-4 2-3 1-6 1-5 1-4 1-3 1-2"
    assert " ".join(box.removeprefix("domino:") for box in dominoes) == drawn
    assert singles == [f"single:{face}" for face in (6, 5, 4, 3, 2, 1)]


@clause("appendix:C", "appendix:D")
def test_rows_of_layout_c_match_the_appendix() -> None:
    felt = load(f"{COVERED}/c").felt
    assert felt is not None
    trios = [area.box for area in felt.areas if area.box.startswith("trio:")]
    fours = [area.box for area in felt.areas if area.box.startswith("four:")]
    pairs = [area for area in felt.areas if area.box.startswith("pair:")]

    drawn = "126 135 234 256 346 123 136 145 235 356 124 146 236 245 456 125 134 156 246 345"
    assert " ".join(box.removeprefix("trio:").replace("-", "") for box in trios) == drawn
    assert fours == ["four:3-4-5-6", "four:2-3-5-6", "four:2-3-4-5", "four:1-2-3-4"]
    assert {(area.box[5], area.y // 62) for area in pairs} == {
        (str(face), face - 1) for face in range(1, 7)
    }
    areas = {area.box: area for area in felt.areas}
    assert areas["even"].x < areas["odd"].x
    assert areas["even"].y < areas["big"].y < areas["total:4"].y < areas["domino:1-2"].y
    assert areas["domino:1-2"].y < areas["four:1-2-3-4"].y < areas["single:1"].y
