"""Takes the pictures of the screens in the README and the docs; `make pictures` runs it.

A real house plays a few rounds first, so that there is something to see: chips on the felt, results
on the board, figures in the pit.
"""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from tests.screens.browser import BrowserUser, launch_browser
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
    with (
        tempfile.TemporaryDirectory() as folder,
        launch_browser() as browser,
        House(Path(folder), house_toml(GAMES)) as house,
    ):
        _play(house)
        _take(browser, house)


def _play(house: House) -> None:
    """Play rounds with dice that are the same each time, and leave bets on the felt."""
    for table in GAMES:
        house.pass_checks(table)
    players = [house.buy_in(TABLE, user, 500_000) for user in ("player", "player2")]
    dice = random.Random(3)
    for _ in range(ROUNDS):
        _bet(house, players, dice)
        house.deal(TABLE, (dice.randint(1, 6), dice.randint(1, 6), dice.randint(1, 6)))
    _bet(house, players, dice)


def _bet(house: House, players: list[str], dice: random.Random) -> None:
    house.send("dealer", TABLE, "OpenBetting")
    for player, user in zip(players, ("player", "player2"), strict=True):
        for box, amount in BETS.items():
            if dice.random() < 0.7:
                house.send(user, TABLE, "PlaceBet", player=player, box=box, amount=amount)


def _take(browser: Browser, house: House) -> None:
    for name, (user, path, size, lang) in SHOWN.items():
        window = BrowserUser(browser, house, size, lang)
        page = window.sign_in(user, path)
        page.wait_for_load_state("networkidle")
        page.evaluate("Promise.all(document.getAnimations().map((each) => each.finished))")
        page.screenshot(path=PICTURES / f"{name}.jpg", quality=80)
        window.context.close()


if __name__ == "__main__":
    take_all()
