"""`threedice odds`, `payoffs`, `settle`, `rulebooks`, `clauses` and `cases`."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

import pytest

from tests.oracle import brute_force as oracle
from threedice import load, shipped_games
from threedice.dice import ROLLS
from threedice.rulebook.source import shipped_ids

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Run


# --- odds and payoffs ---------------------------------------------------------------------------


def test_odds_sheet_groups_boxes_by_family_and_prints_readings(run: Run) -> None:
    out = run("odds", "sg-rws-tai-sai-v6/a").out

    assert "Total Sum Combination Bet: 4.1.1" in out
    assert "One unit on every box: house edge 2/25 = 8.000 %" in out
    assert "pro-rata = floor (5.1.1)" in out
    assert "or absorb" in out


@pytest.mark.parametrize("name", shipped_games())
def test_odds_as_json_are_exact(run: Run, name: str) -> None:
    sheet = run("odds", name, "--json").json
    boxes = {each["box"]: each for each in sheet["boxes"]}

    assert sheet["game"] == name
    assert sheet["layout_edge"] == str(oracle.layout_edge(name))
    for box in oracle.GAMES[name]:
        assert boxes[box]["edge"] == str(oracle.edge(name, box))
        assert boxes[box]["return"] == str(1 - oracle.edge(name, box))
        wins = [roll for roll in oracle.rolls() if oracle.net(name, box, roll) > 0]
        assert boxes[box]["ways"] == len(wins)
    assert ("shooter" in boxes) == (name == "triple-dice/mat")


def test_odds_of_one_box_as_json_have_its_figures_and_payoffs(run: Run) -> None:
    (big,) = run("odds", "sg-rws-tai-sai-v6/a", "--box", "big", "--json").json["boxes"]

    assert (big["ways"], big["hit"], big["edge"], big["return"]) == (105, "35/72", "1/36", "35/36")
    assert big["sd"] == pytest.approx(0.9996141, abs=1e-6)
    assert big["payoffs"] == [{"odds": "1 to 1", "ways": 105}]


def test_odds_as_csv_have_a_row_for_each_box(run: Run) -> None:
    rows = list(csv.DictReader(io.StringIO(run("odds", "sg-rws-tai-sai-v6/e", "--csv").out)))

    assert len(rows) == 107
    assert rows[0]["box"] == "small"
    assert {row["edge"] for row in rows if row["family"] == "pair"} == {"7/24"}


@pytest.mark.parametrize("name", shipped_games())
def test_payoffs_as_json_agree_with_the_oracle(run: Run, name: str) -> None:
    matrix = run("payoffs", name, "--json").json

    assert matrix["game"] == name
    assert matrix["unit"] == 1
    assert matrix["rolls"] == [list(roll) for roll in oracle.rolls()]
    assert set(matrix["boxes"]) == set(oracle.GAMES[name])
    for box, row in matrix["boxes"].items():
        assert row == [oracle.net(name, box, roll) for roll in oracle.rolls()]


def test_payoffs_as_text_have_a_column_for_each_roll(run: Run) -> None:
    head, first, *_ = run("payoffs", "triple-dice").out.splitlines()

    assert head.split("\t")[1:3] == ["crown-crown-crown", "crown-crown-anchor"]
    assert len(first.split("\t")) == 217


def test_a_reading_changes_sheet_matrix_and_hash(run: Run) -> None:
    flat = run("payoffs", "triple-dice", "--json").json
    per_die = run("payoffs", "triple-dice", "--reading", "outside=per-die", "--json").json

    assert flat["hash"] != per_die["hash"]
    assert flat["boxes"]["single:crown"][0] == 1
    assert per_die["boxes"]["single:crown"][0] == 3
    assert "outside = per-die" in run("odds", "triple-dice", "--reading", "outside=per-die").out


def test_odds_of_several_bets_are_those_of_the_mix(run: Run) -> None:
    words = ("odds", "sg-rws-tai-sai-v6/a", "--bet", "big=50", "--bet", "total:10=20")
    mix = run(*words, "--json").json

    assert (mix["total"], mix["edge"]) == (70, "1/18")
    assert mix["best"]["net"] == "70"
    assert len(mix["exposure"]) == 216
    assert sum(each["ways"] for each in mix["distribution"]) == 216
    assert "best 70 on 27 of 216 rolls" in run(*words).out


def test_rulebook_file_may_have_fractional_odds(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "my-game.toml"
    file.write_text(
        'extends = "macau-sic-bo"\nid = "my-game"\ntitle = "Mine"\n[pay_tables.main.rows]\n'
        'small.odds = "19 to 20"\nbig.odds = "11 to 10"\n'
    )
    matrix = run("payoffs", f"{file}/main", "--json").json

    assert matrix["unit"] == 20
    assert set(matrix["boxes"]["small"]) == {19, -20}
    assert set(matrix["boxes"]["big"]) == {22, -20}
    assert set(matrix["boxes"]["triple:1"]) == {3000, -20}
    assert "19 to 20" in run("odds", f"{file}/main").out
    (big,) = run("odds", f"{file}/main", "--box", "big", "--json").json["boxes"]
    assert big["edge"] == "-1/48"


# --- settle -------------------------------------------------------------------------------------


def test_settle_prints_the_call_the_payouts_and_their_clauses(run: Run) -> None:
    words = ("settle", "sg-rws-tai-sai-v6/a", "--dice", "1,3,6", "--bet", "big=50")
    out = run(*words, "--bet", "total:10=20").out

    assert "The dealer calls: 1, 3, 6, total 10" in out
    assert "(3.9, 4.1.1)" in out
    assert "sg-rws-tai-sai-v6 4.1.1: Pay table 1" in out


@pytest.mark.parametrize("roll", ROLLS[::7])
def test_settle_as_json_agrees_with_the_payoff_matrix(run: Run, roll: tuple[int, int, int]) -> None:
    game = load("nz-tai-sai-2008/2")
    bets = [word for box in game.payoffs for word in ("--bet", f"{box}=1")]
    dice = ",".join(str(face) for face in roll)
    settled = run("settle", game.id, "--dice", dice, *bets, "--json").json

    i = ROLLS.index(roll)
    assert {each["box"]: each["net"] for each in settled["bets"]} == {
        box: row[i] for box, row in game.payoffs.items()
    }
    assert settled["net"] == sum(row[i] for row in game.payoffs.values())
    assert settled["winning"] == list(game.winning(roll))


def test_settle_accepts_face_names_in_any_case_and_adds_up_bets(run: Run) -> None:
    words = ("--dice", "Crown, CLUB heart", "--bet", "single:crown=5", "--bet", "single:crown=5")
    settled = run("settle", "triple-dice", *words, "--json").json

    assert settled["dice"] == [1, 6, 4]
    assert settled["call"] == "crown, heart, club"
    assert settled["bets"][0]["stake"] == 10


# --- rulebooks and clauses ----------------------------------------------------------------------


def test_rulebooks_lists_every_shipped_rulebook(run: Run) -> None:
    assert [each["id"] for each in run("rulebooks", "--json").json["rulebooks"]] == list(
        shipped_ids()
    )
    assert "sg-rws-tai-sai-v6" in run("rulebooks").out


def test_rulebooks_says_which_are_in_force_on_a_date(run: Run) -> None:
    def in_force(date: str) -> dict[str, bool]:
        listed = run("rulebooks", "--as-of", date, "--json").json["rulebooks"]
        return {each["id"]: each["in_force"] for each in listed}

    before, after = in_force("2023-10-05"), in_force("2023-10-06")
    assert [book for book in after if before[book] != after[book]] == [
        "sg-rws-tai-sai-open-cover-v5",
        "sg-rws-tai-sai-v6",
    ]
    assert all(after.values())
    assert "not before 2023-10-06" in run("rulebooks", "--as-of", "2023-10-05").out
    assert "undated, text of 2008-04-25" in run("rulebooks").out
    assert run("rulebooks", "--as-of", "soon").code == 2


@pytest.mark.parametrize("book", shipped_ids())
def test_rulebooks_show_has_clauses_and_an_area_for_every_box(run: Run, book: str) -> None:
    shown = run("rulebooks", "show", book, "--json").json

    assert shown["rulebook"]["clauses"]
    for layout, felt in shown["felts"].items():
        areas = {area["box"] for area in felt["areas"]}
        assert areas == set(load(f"{book}/{layout}").boxes)
    assert "close-betting" in run("rulebooks", "show", book).out


def test_rulebooks_check_reports_findings_by_game(run: Run) -> None:
    out = run("rulebooks", "check", "nz-tai-sai-2008", "--floor", "75").out

    assert "dominated: pair:1-1-2: at 60 to 1 wins exactly when total:4 at 62 to 1 does" in out
    assert "nz-tai-sai-2008/1: 0 findings" in out
    assert "readings in force: no-spin=return" in out
    games = run("rulebooks", "check", "sg-rws-tai-sai-v6/c", "--json").json["games"]
    assert [game["game"] for game in games] == ["sg-rws-tai-sai-v6/c"]
    assert sum(each["kind"] == "return-low" for each in games[0]["findings"]) == 28


def test_rulebooks_check_accepts_a_floor_and_chips(run: Run) -> None:
    words = ("rulebooks", "check", "sg-rws-tai-sai-v6/c", "--floor", "70 %", "--chips", "5,25")
    findings = run(*words, "--json").json["games"][0]["findings"]

    assert {each["kind"] for each in findings} == {"family-incomplete"}


def test_rulebooks_diff_compares_the_layouts_that_both_rulebooks_have(run: Run) -> None:
    words = ("rulebooks", "diff", "sg-rws-tai-sai-v6", "sg-rws-tai-sai-open-cover-v5")
    differences = run(*words, "--json").json["differences"]

    assert [each["to"][-1] for each in differences] == ["a", "c", "e"]
    assert all(each["boxes"] == [] for each in differences)
    assert "clause 5.5.3" in run(*words).out


def test_rulebooks_diff_of_two_games_shows_odds_and_edges(run: Run) -> None:
    out = run("rulebooks", "diff", "sg-rws-tai-sai-v6/c", "nz-tai-sai-2008/2").out
    assert "box pair:1-1-3: 50 to 1, edge 7/24 = 29.167 % -> 60 to 1, edge 11/72 = 15.278 %" in out
    assert "box pair:1-1-2: not offered -> 60 to 1" in out
    same = run("rulebooks", "diff", "triple-dice", "triple-dice", "--reading", "outside=per-die")
    assert "no difference" in same.out


def test_clauses_as_text_list_data_and_tests(run: Run) -> None:
    out = run("clauses", "sg-rws-tai-sai-open-cover-v5").out

    assert "\n5.1.1 [modelled, stated in sg-rws-tai-sai-v6]" in out
    assert "  data: limits.maximum, limits.differential, limits.pro_rata, readings.pro-rata" in out
    assert "\n  test: tests/rulebook/test_singapore.py::test_" in out


def test_clauses_of_a_users_rulebook_file_list_no_tests(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "fake.toml"
    file.write_text(
        'extends = "sg-rws-tai-sai-v6"\nid = "fake"\ntitle = "Fake"\n'
        '[pay_tables.1.rows]\nbig.odds = "3 to 1"\n'
    )
    (book,) = run("clauses", str(file), "--json").json["rulebooks"]

    assert all(clause["tests"] == [] for clause in book["clauses"])


def test_clauses_as_json_list_data_tests_and_the_rulebook_that_states_them(run: Run) -> None:
    (book,) = run("clauses", "sg-rws-tai-sai-open-cover-v5", "--json").json["rulebooks"]
    clauses = {each["clause"]: each for each in book["clauses"]}

    assert clauses["5.1.1"]["stated_in"] == "sg-rws-tai-sai-v6"
    assert "limits.pro_rata" in clauses["5.1.1"]["data"]
    assert any("test_singapore.py" in test for test in clauses["5.1.1"]["tests"])
    assert clauses["5.5.3"]["stated_in"] == "sg-rws-tai-sai-open-cover-v5"
    everything = run("clauses").out
    assert all(f"{book}: " in everything for book in shipped_ids())


# --- cases --------------------------------------------------------------------------------------

GOOD_AND_BAD = """
[[case]]
name = "Good"
clause = "sg-rws-tai-sai-v6 3.9"
game = "sg-rws-tai-sai-v6/a"
players = { ann = 1000 }
play = ["open betting", "ann bets 100 on big", "dice 6 5 4"]
expect = { ann = 1100 }

[[case]]
name = "Bad"
clause = "sg-rws-tai-sai-v6 3.9"
game = "sg-rws-tai-sai-v6/a"
players = { ann = 1000 }
play = ["open betting", "ann bets 100 on big", "dice 1 1 2"]
expect = { ann = 1100 }
"""


def test_failed_case_prints_its_difference_and_exits_with_1(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "cases.toml"
    file.write_text(GOOD_AND_BAD)
    result = run("cases", str(file))

    assert result.code == 1
    assert "cases.toml: Bad (sg-rws-tai-sai-v6 3.9)\n  ann has 900, expected 1100" in result.out
    assert result.out.endswith("1 passed, 1 failed\n")
    report = run("cases", str(file), "--json").json["cases"]
    assert [each["passed"] for each in report] == [True, False]


def test_cases_tell_prints_the_events_as_prose(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "cases.toml"
    file.write_text(GOOD_AND_BAD.partition('[[case]]\nname = "Bad"')[0])
    result = run("cases", str(file), "--tell")

    assert result.code == 0
    assert "Winners paid: ann's 100 on big wins 100." in result.out
    assert "In the end ann has 1100." in result.out


def test_problem_of_a_case_names_file_case_and_line(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "cases.toml"
    file.write_text(GOOD_AND_BAD.replace('"dice 1 1 2"', '"pay winners"'))

    result = run("cases", str(file))

    assert result.code == 1
    assert (
        "cases.toml: Bad (sg-rws-tai-sai-v6 3.9)\n  line 3, 'pay winners', stopped:" in result.out
    )
    assert "is not a line of a case; the nearest are: pay the winners;" in result.out


def test_cases_tell_prints_the_announcements_of_the_dealer(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "cases.toml"
    file.write_text(NO_SPIN)

    told = run("cases", str(file), "--tell").out

    assert '  "Place your bets".\n' in told
    assert '  "No spin". Spin 1 is void (dice-not-flat); returned: ann\'s 100 on big.\n' in told


NO_SPIN = """
[[case]]
name = "No spin"
clause = "nz-tai-sai-2008 7.1"
game = "nz-tai-sai-2008/1"
players = { ann = 1000 }
play = ["open betting", "ann bets 100 on big", "dealer reports dice-not-flat"]
expect = { ann = 1000 }
"""


def test_cases_without_files_runs_the_shipped_cases(run: Run) -> None:
    result = run("cases")

    assert result.code == 0
    assert result.out.endswith(" passed, 0 failed\n")
