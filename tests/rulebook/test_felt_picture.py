"""The drawing of a felt, and of a game in a notebook."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import pytest

from threedice import load, shipped_games
from threedice.rulebook.felt_picture import felt_picture

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("name", shipped_games())
def test_game_in_a_notebook_shows_its_felt_with_every_box(name: str) -> None:
    game = load(name)

    drawing = ElementTree.fromstring(game._repr_html_())

    groups = [each.get("data-box") for each in drawing.iter(f"{SVG}g") if each.get("data-box")]
    assert game.felt is not None
    assert groups == [area.box for area in game.felt.areas]


def test_game_without_a_felt_shows_its_boxes_and_odds_in_a_notebook() -> None:
    game = replace(load("crown-and-anchor/main"), felt=None)

    html = game._repr_html_()

    assert html.startswith("<table>")
    assert html.count("<tr>") == 1 + len(game.boxes)
    assert "1 to 1 / 2 to 1 / 3 to 1" in html


def test_chips_lie_within_their_area_with_their_amount() -> None:
    game = load("sg-rws-tai-sai-v6/a")
    assert game.felt is not None
    area = next(each for each in game.felt.areas if each.box == "big")

    plain = felt_picture(game, game.felt, {})
    drawing = ElementTree.fromstring(felt_picture(game, game.felt, {}, {"big": 1500}))

    (chip,) = [each for each in drawing.iter(f"{SVG}circle") if each.get("fill") == "#f3c74f"]
    x, y, radius = (float(chip.get(name, "")) for name in ("cx", "cy", "r"))
    assert area.x < x - radius < x + radius < area.x + area.width
    assert area.y < y - radius < y + radius < area.y + area.height
    assert "1,500" in [each.text for each in drawing.iter(f"{SVG}text")]
    assert "1,500" not in plain
