"""The demo house: its tables, sign-ins and simulated players."""

from __future__ import annotations

import signal
from collections import Counter
from contextlib import AsyncExitStack
from random import Random
from typing import TYPE_CHECKING, Any

import httpx
import msgspec
import pytest
from websockets.sync.client import connect

from tests.api.live_server import HOUSE_CONFIG
from tests.api.serve_process import HOUSE, start_server
from threedice.api.config import check_table, configured_limits, load_config
from threedice.api.demo import SIGN_INS
from threedice.api.demo.players import PLAYER_NAMES, DemoPlayers
from threedice.api.listener import ListenAddress, bind_socket
from threedice.api.server import CONSOLE_ACTOR, ServerSettings, open_house
from threedice.cli.house import DEMO_HOUSE_FILE, demo_password_cost
from threedice.errors import InvalidInput, Refusal
from threedice.house.dealer.automatic import DealerCommand, DealerDraw, next_action
from threedice.house.decisions import HOUSE_DEALER
from threedice.house.stream_state import HouseTable, fold_of
from threedice.identity.authentication.passwords import TEST_COST
from threedice.identity.roles import ROLES
from threedice.rulebook.library import shipped_games
from threedice.table import commands, decide
from threedice.table.events import BetPlaced, WinnersPaid

if TYPE_CHECKING:
    from pathlib import Path

    from threedice.identity import Account
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
    with start_server(tmp_path, "--demo", "--port", "0") as process:
        port = process.wait_until_listening()
        base = f"http://127.0.0.1:{port}"
        with httpx.Client(base_url=base, headers={"Origin": base}) as client:
            shown = client.get("/api/house").json()["demo"]
            assert [each["name"] for each in shown] == [each.name for each in SIGN_INS]
            for each in shown:
                signed_in = client.post(
                    "/api/session", json={"name": each["name"], "password": each["password"]}
                )
                assert signed_in.status_code < 300, signed_in.text
            dealer = {"name": "dealer", "password": shown[0]["password"]}
            assert client.post("/api/session", json=dealer).status_code < 300
            assert client.get("/api/tables/chips/rack").json()["deals_in"] == "chips"
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
                totals = totals_of(msgspec.json.decode(socket.recv(timeout=60)))
            assert not [name for name in PLAYER_NAMES if name in str(hello)]
        process.send_signal(signal.SIGINT)
        assert process.wait() == 0
    file = tmp_path / "threedice" / "demo" / "house.sqlite"
    assert file.exists()
    assert f"look at its log with: threedice log verify --database {file}" in process.output


def test_demo_of_a_house_file_says_that_anybody_may_play_in_it(tmp_path: Path) -> None:
    file = tmp_path / "house.toml"
    file.write_text(HOUSE, encoding="utf-8")

    with start_server(tmp_path, "--demo", "--house", str(file), "--port", "0") as process:
        process.wait_until_listening()

    assert process.output[0] == (
        f"{file} is served as a demo: anybody at this machine may sign in with the passwords below,"
        " in every role, and simulated players bet play money at its tables; leave --demo out to"
        " serve the real house"
    )


@pytest.mark.anyio
async def test_demo_and_house_refuse_each_others_databases(tmp_path: Path) -> None:
    for demo in (False, True):
        url = f"sqlite:///{tmp_path}/{demo}.sqlite"
        accounts = await open_and_close(url, demo=demo)
        with pytest.raises(InvalidInput, match="this database belongs to a"):
            await open_and_close(url, demo=not demo)
        assert await open_and_close(url, demo=demo) == accounts


async def open_and_close(url: str, *, demo: bool) -> list[Account]:
    """Open the demo or a house as the server does, and return its accounts."""
    config, cost = (DEMO, demo_password_cost()) if demo else (HOUSE_CONFIG, TEST_COST)
    address = ListenAddress(port=0)
    settings = ServerSettings(url, config, address, demo=demo, password_cost=cost)
    with bind_socket(address) as listening_socket:
        async with AsyncExitStack() as exits:
            context = await open_house(settings, listening_socket, exits, lambda _notice: None)
            return context.identity.accounts.all()


def totals_of(message: dict[str, Any]) -> dict[str, int]:
    return {
        spot: change
        for each in message.get("events", ())
        for spot, change in each["totals"].items()
    }


@pytest.mark.parametrize("name", [name for name, table in DEMO.tables.items()])
def test_simulated_players_keep_a_table_in_play(name: str) -> None:
    """They bet and throw the dice, and few of their commands are refused."""
    table = DEMO.tables[name]
    game, house_table = check_table(table), HouseTable(id=name, dealt_by_house=table.dealt_by_house)
    crowd, counts = DemoPlayers(Random(1)), Counter[str]()
    decide_and_fold(
        game,
        house_table,
        commands.OpenTable(
            by=CONSOLE_ACTOR, table=name, currency="XTS", mode=table.mode, chips=table.chips,
            float_amount=table.float_amount, limits=configured_limits(table, game),
        ),
        counts,
    )  # fmt: skip
    if table.dealt_by_house is None:
        decide_and_fold(game, house_table, commands.OpenBetting(by=HOUSE_DEALER), counts)
    for turn in range(1000):
        if command := crowd.next_command(game, house_table):
            decide_and_fold(game, house_table, command, counts)
        if turn % 8 == 0 and table.dealt_by_house:
            deal(game, house_table, counts, Random(turn))
    assert counts[BetPlaced.__name__] > 50
    assert counts["refused"] < counts[BetPlaced.__name__] / 4
    if table.dealt_by_house:
        assert counts[WinnersPaid.__name__] > 1


def deal(game: Game, house_table: HouseTable, counts: Counter[str], random: Random) -> None:
    """Execute the next action of the automatic dealer, if there is one."""
    act = next_action(game, house_table, 1000.0)
    if isinstance(act, DealerCommand):
        decide_and_fold(game, house_table, act.command, counts)
    elif isinstance(act, DealerDraw):
        dice = (random.randint(1, 6), random.randint(1, 6), random.randint(1, 6))
        decide_and_fold(game, house_table, commands.CallResult(by=HOUSE_DEALER, dice=dice), counts)


def decide_and_fold(
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
