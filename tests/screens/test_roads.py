"""The roads of the results board, for the boxes of real games.

Node runs the board's functions; screens/src/pages/board/*.test.ts has the tests that need no game.
"""

from __future__ import annotations

import json
import subprocess
from functools import cache
from itertools import product
from typing import Any

import msgspec
import pytest

from screens import build
from threedice.api.routes.games import game_view
from threedice.rulebook import load

ROADS = build.SOURCES / "src" / "pages" / "board" / "roads.ts"
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
import {{ readFileSync }} from "node:fs";
const asked = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify(asked.map(([name, ...args]) => roads[name](...args))));
"""


def ask(*calls: list[Any]) -> list[Any]:
    """Have Node call functions of the board, each with its arguments."""
    said = subprocess.run(
        [build.node(), "--input-type=module", "-e", ASK.format(roads=json.dumps(ROADS.as_uri()))],
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
def test_every_roll_is_recorded_on_the_side_that_wins(game: str) -> None:
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
