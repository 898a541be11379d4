"""The roads of the results board, for the boxes of real games.

Node runs the board's functions; screens/src/roads/*.test.ts has the tests that need no game.
"""

from __future__ import annotations

import json
import subprocess
from itertools import product
from typing import Any

import msgspec
import pytest

from screens import build
from threedice.api.routes.games import game_view
from threedice.rulebook import load

ROADS = build.SOURCES / "src" / "roads" / "roads.ts"
GAMES = (
    "sg-rws-tai-sai-v6/a",
    "sg-rws-tai-sai-v6/c",
    "sg-rws-tai-sai-v6/e",
    "nz-tai-sai-2008/2",
    "macau-sic-bo/main",
    "crown-and-anchor/main",
    "triple-dice/mat",
)
ROLLS = list(product(range(1, 7), repeat=3))
SCRIPT = f"""
import {{ outcomeOn, roadsOf }} from {json.dumps(ROADS.as_uri())};
import {{ readFileSync }} from "node:fs";
const {{ games, rolls }} = JSON.parse(readFileSync(0, "utf8"));
const roads = games.map((game) => roadsOf(game).map((road) => ({{
  sides: road.sides.map((side) => side.key),
  offered: road.offered,
  outcomes: rolls.map((roll) => outcomeOn(road, roll)),
}})));
console.log(JSON.stringify(roads));
"""


@pytest.fixture(scope="module")
def roads() -> dict[str, list[dict[str, Any]]]:
    """Return the roads of every game, each with its outcome on all rolls."""
    games = [msgspec.to_builtins(game_view(load(game), game.split("/", 1)[0])) for game in GAMES]
    result = subprocess.run(
        [build.node(), "--input-type=module", "-e", SCRIPT],
        input=json.dumps({"games": games, "rolls": ROLLS}),
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(zip(GAMES, json.loads(result.stdout), strict=True))


@pytest.mark.parametrize(
    ("game", "expected"),
    [
        ("sg-rws-tai-sai-v6/a", [(["small", "big"], True)]),
        ("sg-rws-tai-sai-v6/c", [(["small", "big"], True), (["odd", "even"], True)]),
        ("sg-rws-tai-sai-v6/e", [(["small", "big"], True)]),
        ("nz-tai-sai-2008/2", [(["small", "big"], True), (["odd", "even"], True)]),
        ("macau-sic-bo/main", [(["small", "big"], True)]),
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
    game: str,
    expected: list[tuple[list[str], bool]],
    roads: dict[str, list[dict[str, Any]]],
) -> None:
    assert [(road["sides"], road["offered"]) for road in roads[game]] == expected


@pytest.mark.parametrize("game", GAMES)
def test_every_roll_is_recorded_on_the_side_that_wins(
    game: str, roads: dict[str, list[dict[str, Any]]]
) -> None:
    for road in roads[game]:
        assert road["outcomes"] == [winning_side(road["sides"], roll) for roll in ROLLS]


def winning_side(sides: list[str], roll: tuple[int, ...]) -> str:
    """Work out which side a roll wins; a triple that no side pays is a triple."""
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
    assert len(won) <= 1
    return won[0] if won else "triple" if triple else "neither"
