"""The demo house: it comes up by itself, can be signed in to in every role, and lives."""

from __future__ import annotations

import signal
from collections import Counter
from contextlib import closing
from random import Random
from typing import TYPE_CHECKING, Any

import httpx
import msgspec
import pytest
from websockets.sync.client import connect

from tests.api.serve_process import HOUSE, started
from threedice.api.config import check_table, configured_limits, load_config
from threedice.api.demo import SIGN_INS
from threedice.api.demo.players import PLAYER_NAMES, DemoPlayers
from threedice.api.server import CONSOLE_ACTOR
from threedice.cli.house import DEMO_HOUSE_FILE, demo_password_cost
from threedice.errors import Refusal
from threedice.house.dealer.automatic import DealerCommand, DealerDraw, next_action
from threedice.house.decisions import HOUSE_DEALER
from threedice.house.stream_state import HouseTable, fold_of
from threedice.identity import open_identity
from threedice.identity.roles import ROLES
from threedice.log.stores.urls import state_directory
from threedice.rulebook.library import shipped_games
from threedice.table import commands, decide
from threedice.table.events import BetPlaced, WinnersPaid

if TYPE_CHECKING:
    from pathlib import Path

    from threedice.rulebook import Game

DEMO = load_config(DEMO_HOUSE_FILE)


def test_demo_has_a_table_for_every_rulebook_and_one_dealt_by_hand() -> None:
    books = {game.partition("/")[0] for game in shipped_games()}
    assert {table.game.partition("/")[0] for table in DEMO.tables.values()} == books
    assert any(table.dealt_by_house is None for table in DEMO.tables.values())
    assert not DEMO.policies.totp_for_staff


def test_demo_has_a_sign_in_for_every_role() -> None:
    assert {each.role for each in SIGN_INS} == set(ROLES)


def test_demo_starts_plays_and_stops(tmp_path: Path) -> None:
    with started(tmp_path, "--demo", "--port", "0") as process:
        port = process.until_listening()
        base = f"http://127.0.0.1:{port}"
        with httpx.Client(base_url=base, headers={"Origin": base}) as client:
            shown = client.get("/api/house").json()["demo"]
            assert [each["name"] for each in shown] == [each.name for each in SIGN_INS]
            for each in shown:
                signed_in = client.post(
                    "/api/session", json={"name": each["name"], "password": each["password"]}
                )
                assert signed_in.status_code < 300, signed_in.text
            cookie = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
            player = {"name": "player", "password": shown[0]["password"]}
            assert client.post("/api/session", json=player).status_code < 300
            cookie = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
        url = f"ws://127.0.0.1:{port}/api/tables/crown-and-anchor/live"
        headers = {"Origin": base, "Cookie": cookie}
        with connect(url, additional_headers=headers) as socket:
            hello = msgspec.json.decode(socket.recv())
            assert hello["view"]["dealt_by_house"]
            totals: dict[str, int] = {}
            while not totals:
                totals = _totals(msgspec.json.decode(socket.recv(timeout=60)))
            assert not [name for name in PLAYER_NAMES if name in str(hello)]
        process.stop(signal.SIGINT)
        assert process.end() == 0
    assert (tmp_path / "threedice" / "demo" / "house.sqlite").exists()


def test_demo_and_house_refuse_each_others_databases(tmp_path: Path) -> None:
    (tmp_path / "house.toml").write_text(HOUSE, encoding="utf-8")
    kinds = {"house": ["--house", str(tmp_path / "house.toml")], "demo": ["--demo"]}
    for name, other in (("house", "demo"), ("demo", "house")):
        url = f"sqlite:///{tmp_path / name}.sqlite"
        database = ["--port", "0", "--database", url]
        with started(tmp_path, *kinds[name], *database) as process:
            process.until_listening()
        with closing(
            open_identity(url, state=state_directory(url), cost=demo_password_cost())
        ) as people:
            before = people.accounts.all()
            with started(tmp_path, *kinds[other], *database) as process:
                assert process.end() == 2
            assert "this database belongs to a" in process.errors
            assert people.accounts.all() == before
        with started(tmp_path, *kinds[name], *database) as process:  # it is its own still
            process.until_listening()


def _totals(message: dict[str, Any]) -> dict[str, int]:
    return {
        spot: change
        for each in message.get("events", ())
        for spot, change in each["totals"].items()
    }


@pytest.mark.parametrize("name", [name for name, table in DEMO.tables.items()])
def test_simulated_players_keep_a_table_in_play(name: str) -> None:
    """They bet, and where they get the dice they throw them, with hardly anything refused."""
    table = DEMO.tables[name]
    game, house_table = check_table(table), HouseTable(id=name, dealt_by_house=table.dealt_by_house)
    crowd, counts = DemoPlayers(Random(1)), Counter[str]()
    ask(
        game,
        house_table,
        commands.OpenTable(
            by=CONSOLE_ACTOR, table=name, currency="XTS", mode=table.mode, chips=table.chips,
            float_amount=table.float, limits=configured_limits(table, game),
        ),
        counts,
    )  # fmt: skip
    if table.dealt_by_house is None:
        ask(game, house_table, commands.OpenBetting(by=HOUSE_DEALER), counts)
    for turn in range(1000):
        if command := crowd.next_command(game, house_table):
            ask(game, house_table, command, counts)
        if turn % 8 == 0 and table.dealt_by_house:
            deal(game, house_table, counts, Random(turn))
    assert counts[BetPlaced.__name__] > 50
    assert counts["refused"] < counts[BetPlaced.__name__] / 4
    if table.dealt_by_house:
        assert counts[WinnersPaid.__name__] > 1


def deal(game: Game, house_table: HouseTable, counts: Counter[str], random: Random) -> None:
    """Do what the house's dealer does next, if anything."""
    act = next_action(game, house_table, 1000.0)
    if isinstance(act, DealerCommand):
        ask(game, house_table, act.command, counts)
    elif isinstance(act, DealerDraw):
        dice = (random.randint(1, 6), random.randint(1, 6), random.randint(1, 6))
        ask(game, house_table, commands.CallResult(by=HOUSE_DEALER, dice=dice), counts)


def ask(
    game: Game, house_table: HouseTable, command: commands.AnyCommand, counts: Counter[str]
) -> None:
    fold = fold_of("table/1")
    try:
        events = decide(game, house_table.table, command)
    except Refusal:
        counts["refused"] += 1
        return
    for event in events:
        fold.evolve(house_table, event, 1, 1)
        counts[type(event).__name__] += 1
