"""Draws the picture in the README; `make pictures` runs it."""

from __future__ import annotations

from pathlib import Path

from threedice import load, odds_sheet
from threedice.pages.felt import felt_picture

FELT = Path(__file__).with_name("felt.svg")


def readme_felt() -> str:
    """Return the felt of Tai Sai, layout A, every area tinted by its house edge."""
    game = load("sg-rws-tai-sai-v6/a")
    edges = {each.box.id: each.figures.edge for each in odds_sheet(game).boxes}
    if game.felt is None:
        raise SystemExit("the layout has no geometry")
    return felt_picture(game, game.felt, edges).replace("inherit", "serif", 1) + "\n"


if __name__ == "__main__":
    FELT.write_text(readme_felt(), encoding="utf-8")
