"""Takes the pictures of the screens in the README and the docs; `make pictures` runs it.

A real house plays a few rounds first, so that there is something to see: chips on the felt, results
on the board, figures in the pit.
"""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from tests.screens.browser import Person, browsing
from tests.screens.house import House, house_toml

if TYPE_CHECKING:
    from playwright.sync_api import Browser

PICTURES = Path(__file__).with_name("pictures")
GAMES = {
    "tai-sai": "sg-rws-tai-sai-v6/a",
    "open-cover": "sg-rws-tai-sai-open-cover-v5/c",
    "new-zealand": "nz-tai-sai-2008/1",
    "triple-dice": "triple-dice/mat",
}
TABLE = "tai-sai"
ROUNDS = 40
SHOWN = {
    "lobby": ("player", "/", "desk", "en"),
    "player": ("player", f"/table/{TABLE}", "desk", "en"),
    "player-phone": ("player", f"/table/{TABLE}", "phone", "zh-Hant"),
    "dealer": ("dealer", f"/deal/{TABLE}", "desk", "en"),
    "board": ("player", f"/board/{TABLE}", "board", "en"),
    "pit": ("pit-manager", f"/pit/{TABLE}", "desk", "en"),
    "odds": ("player", "/odds/sg-rws-tai-sai-v6/a", "desk", "en"),
}
"""Pictures by name: who looks, at which page, at what size and in which language."""

BETS = {"big": 2500, "total:9": 500, "single:6": 1000, "double:5": 300, "domino:1-2": 700}


def take_all() -> None:
    """Play, and take every picture."""
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, browsing() as browser:
        house = House(Path(folder), house_toml(GAMES))
        try:
            _play(house)
            _take(browser, house)
        finally:
            house.stop()


def _play(house: House) -> None:
    """Play rounds with dice that are the same each time, and leave bets on the felt."""
    for table in GAMES:
        house.open_table(table)
    players = [house.seat(TABLE, who, 500_000) for who in ("player", "player2")]
    dice = random.Random(3)
    for _ in range(ROUNDS):
        _bet(house, players, dice)
        house.play_out(TABLE, (dice.randint(1, 6), dice.randint(1, 6), dice.randint(1, 6)))
    _bet(house, players, dice)


def _bet(house: House, players: list[str], dice: random.Random) -> None:
    house.send("dealer", TABLE, "OpenBetting")
    for player, who in zip(players, ("player", "player2"), strict=True):
        for box, amount in BETS.items():
            if dice.random() < 0.7:
                house.send(who, TABLE, "PlaceBet", player=player, box=box, amount=amount)


def _take(browser: Browser, house: House) -> None:
    for name, (who, path, size, lang) in SHOWN.items():
        someone = Person(browser, house, size, lang)
        page = someone.sign_in(who, path)
        page.wait_for_load_state("networkidle")
        page.evaluate("Promise.all(document.getAnimations().map((each) => each.finished))")
        page.screenshot(path=PICTURES / f"{name}.jpg", quality=80)
        someone.context.close()


if __name__ == "__main__":
    take_all()
