"""Lint findings of games, comparisons of two games, and alternatives of readings."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING

from threedice import load
from threedice.odds.comparison import GameDifference, compare_games, readings_in_force
from threedice.odds.lint import LintFinding, lint
from threedice.rulebook import load_rulebook

if TYPE_CHECKING:
    from pathlib import Path

FLOOR = Fraction(3, 4)


def lint_findings(game: str, kind: str, chips: tuple[int, ...] = ()) -> dict[str, LintFinding]:
    return {each.box: each for each in run_lint(game, chips) if each.kind == kind}


@cache
def run_lint(game: str, chips: tuple[int, ...]) -> list[LintFinding]:
    return list(lint(load(game), load_rulebook(game.rpartition("/")[0]).book, FLOOR, chips))


def test_lint_reports_a_house_edge_of_zero_with_its_clause() -> None:
    found = lint_findings("triple-dice/mat", "edge-zero")

    assert list(found) == ["any-triple"]
    assert found["any-triple"].clauses == ("odds:any-triple",)


def test_lint_reports_a_negative_house_edge(tmp_path: Path) -> None:
    file = tmp_path / "generous.toml"
    file.write_text(
        'extends = "crown-and-anchor"\nid = "generous"\ntitle = "Generous"\n'
        '[pay_tables.main.rows.single]\nodds = ["2 to 1", "2 to 1", "3 to 1"]\n'
    )
    found = lint(load(f"{file}/main"), load_rulebook(str(file)).book, FLOOR)

    assert {each.kind for each in found} == {"edge-negative"}
    assert len(found) == 6


def test_lint_reports_returns_below_the_floor_but_not_at_the_floor() -> None:
    assert set(lint_findings("triple-dice/mat", "return-low")) >= {"red", "black", "shooter"}
    assert lint_findings("nz-tai-sai-2008/2", "return-low") == {}
    book = load_rulebook("sg-rws-tai-sai-v6").book
    game = load("sg-rws-tai-sai-v6/c")
    at_it = lint(game, book, Fraction(17, 24))
    above = lint(game, book, Fraction(17, 24) + Fraction(1, 10**9))
    assert sum(each.kind == "return-low" for each in at_it) == 0
    assert sum(each.kind == "return-low" for each in above) == 28


def test_lint_names_the_boxes_missing_from_a_family() -> None:
    c = lint_findings("sg-rws-tai-sai-v6/c", "family-incomplete")
    e = lint_findings("sg-rws-tai-sai-v6/e", "family-incomplete")
    nz = lint_findings("nz-tai-sai-2008/2", "family-incomplete")

    assert set(c) == {"pair", "four"}
    assert c["pair"].message.endswith("missing pair:1-1-2, pair:6-6-5")
    assert c["four"].message.startswith("4 of 15")
    assert c["four"].message.count("four:") == 11
    assert set(e) == {"pair"}
    assert set(nz) == {"four"}
    assert lint_findings("triple-dice/mat", "family-incomplete") == {}


def test_lint_names_a_dominated_box_with_the_better_one() -> None:
    found = lint_findings("nz-tai-sai-2008/2", "dominated")

    assert set(found) == {"pair:1-1-2", "pair:6-6-5"}
    assert found["pair:1-1-2"].message == "at 60 to 1 wins exactly when total:4 at 62 to 1 does"
    assert lint_findings("sg-rws-tai-sai-v6/c", "dominated") == {}


def test_box_that_wins_on_fewer_rolls_at_the_same_odds_is_dominated(tmp_path: Path) -> None:
    file = tmp_path / "poor.toml"
    file.write_text(
        'extends = "macau-sic-bo"\nid = "poor"\ntitle = "Poor"\n'
        '[pay_tables.main.rows.triple]\nodds = "24 to 1"\n'
    )
    found = [
        f
        for f in lint(load(f"{file}/main"), load_rulebook(str(file)).book, FLOOR)
        if f.kind == "dominated"
    ]

    assert {each.box for each in found} == {f"triple:{n}" for n in range(1, 7)}
    assert found[0].message == "at 24 to 1 wins only when any-triple at 24 to 1 does"


def test_lint_reports_odds_not_payable_in_chips_with_a_payable_step(tmp_path: Path) -> None:
    file = tmp_path / "odd.toml"
    file.write_text(
        'extends = "macau-sic-bo"\nid = "odd"\ntitle = "Odd"\n[pay_tables.main.rows]\n'
        'small.odds = "19 to 20"\nbig.odds = "11 to 10"\n'
    )
    game, book = load(f"{file}/main"), load_rulebook(str(file)).book
    by_box = {f.box: f for f in lint(game, book, FLOOR, (5, 25, 100)) if f.kind == "not-payable"}

    assert set(by_box) == {"small", "big"}
    assert by_box["small"].message.endswith("only on multiples of 100")
    assert by_box["big"].message.endswith("only on multiples of 50")
    assert not [f for f in lint(game, book, FLOOR) if f.kind == "not-payable"]
    assert lint_findings("sg-rws-tai-sai-v6/c", "not-payable", (5, 25)) == {}


def compare(one: str, other: str) -> GameDifference:
    books = [load_rulebook(name.rpartition("/")[0]).book for name in (one, other)]
    return compare_games(load(one), load(other), books[0].clauses, books[1].clauses)


def test_singapore_games_differ_in_conduct_but_not_in_payouts() -> None:
    found = compare("sg-rws-tai-sai-v6/c", "sg-rws-tai-sai-open-cover-v5/c")

    assert [each.where for each in found.clauses] == ["2.1.1", "3.7", "5.5.3"]
    assert found.boxes == ()
    assert {each.where for each in found.behaviour} >= {
        "procedure.order",
        "procedure.steps.tumble.covered",
        "irregularities.exposed-before-close",
        "irregularities.tumbled-before-close",
        "readings.tumble",
    }


def test_comparison_of_layouts_lists_odds_and_edges_of_differing_boxes() -> None:
    found = {each.box: each for each in compare("sg-rws-tai-sai-v6/c", "nz-tai-sai-2008/2").boxes}

    assert found["pair:1-1-3"].edge_before == Fraction(7, 24)
    assert found["pair:1-1-3"].edge_after == Fraction(11, 72)
    assert (found["pair:1-1-2"].before, found["pair:1-1-2"].after) == ("", "60 to 1")
    assert len(found) == 30
    gone = {each.box: each for each in compare("sg-rws-tai-sai-v6/c", "sg-rws-tai-sai-v6/a").boxes}
    assert gone["odd"].edge_after is None


def test_comparison_of_a_game_with_itself_is_empty() -> None:
    assert compare("triple-dice/mat", "triple-dice/mat") == GameDifference((), (), ())


def test_alternatives_of_a_reading_list_their_changes_of_edge() -> None:
    readings = {
        each.name: each
        for each in readings_in_force(load_rulebook("triple-dice"), load("triple-dice"))
    }

    (per_die,) = readings["outside"].alternatives
    assert set(per_die.edge_changes.values()) == {(Fraction(17, 108), Fraction(17, 216))}
    assert len(per_die.edge_changes) == 6
    (returned,) = readings["no-throw"].alternatives
    assert returned.edge_changes == {}


def test_alternative_of_a_chosen_reading_is_the_default() -> None:
    game = load("triple-dice", {"outside": "per-die"})
    (outside,) = (
        r for r in readings_in_force(load_rulebook("triple-dice"), game) if r.name == "outside"
    )

    assert outside.choice == "per-die"
    assert [other.name for other in outside.alternatives] == ["flat"]
    assert outside.alternatives[0].edge_changes["single:crown"] == (
        Fraction(17, 216),
        Fraction(17, 108),
    )


def test_reading_that_selects_another_pay_table_lists_its_changes_of_edge(tmp_path: Path) -> None:
    file = tmp_path / "book.toml"
    file.write_text(
        """extends = "macau-sic-bo"
id = "book"
title = "Book"
[pay_tables.alt]
clause = "5"
rows.small.odds = "2 to 1"
rows.big.odds = "1 to 1"
[layouts.plain]
title = "plain"
pay_table = "alt"
clause = "1"
[layouts.other]
title = "other"
pay_table = "main"
clause = "1"
[readings.which]
question = "Which?"
clause = "5"
default = "main"
options.main.says = "Main."
options.alt.says = "Alt."
options.alt.set.layouts.other.pay_table = "alt"
"""
    )
    readings = readings_in_force(load_rulebook(str(file)), load(f"{file}/other"))
    reading = next(each for each in readings if each.name == "which")
    edges = reading.alternatives[0].edge_changes

    assert [str(edge) for edge in edges["small"]] == ["1/36", "-11/24"]
    assert [str(edge) for edge in edges["any-triple"]] == ["11/36", "None"]
    assert "big" not in edges
