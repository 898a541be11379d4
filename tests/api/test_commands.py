"""Commands over HTTP: in one's own name, once, and answered truly."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest

from tests.api.setting import DEALER, SUPERVISOR, opened, seat
from tests.api.test_authorisation import code
from threedice.api.auth.audiences import encode_command_result
from threedice.api.auth.authentication import Caller
from threedice.house.codec import decode
from threedice.log.stores.memory import MemoryStore
from threedice.log.stores.urls import open_store
from threedice.table import commands
from threedice.table.events import BetPlaced, BettingClosed

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.api.setting import Setting
    from threedice.log.records import Proposal, ProposalOutcome

pytestmark = pytest.mark.anyio


async def stack(setting: Setting, who: str) -> int:
    seats = (await setting.context.house.command_handler.table("1")).table.seats
    return seats[setting.id(who)].stack


# --- in whose name ------------------------------------------------------------------------------


async def test_placing_a_bet_returns_its_events(playing: Setting) -> None:
    response = await playing.bet("player", 25)
    answer = response.json()
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/json"
    (event,) = answer["events"]
    assert (event["type"], event["amount"]) == ("BetPlaced", 25)
    assert event["by"] == {"id": playing.id("player"), "role": "player"}
    assert answer["version"] == playing.context.house.command_handler.store.head("table/1").version
    assert await stack(playing, "player") == 975


async def test_forged_sender_in_a_player_command_is_refused(playing: Setting) -> None:
    me, other = playing.id("player"), playing.id("other player")
    bet = {"type": "PlaceBet", "player": me, "box": "big", "amount": 5}
    own = {"id": me, "role": "player"}
    assert (await playing.send("player", {**bet, "by": own})).status_code == 200
    for by in (
        {"id": other, "role": "player"},
        {"id": me, "role": "dealer"},
        {"id": me, "role": "shooter"},
        {"id": "house", "role": "dealer"},
        {"id": "", "role": "player"},
    ):
        forged = await playing.send("player", {**bet, "by": by})
        assert (forged.status_code, code(forged)) == (403, "door/by"), by
    assert (await playing.send("player", {**bet, "by": "me"})).status_code == 422
    assert await stack(playing, "player") == 995


async def test_forged_role_in_a_dealer_command_is_refused(playing: Setting) -> None:
    dealer = playing.id("dealer")
    close = {"type": "CloseBetting"}
    for by in (
        {"id": dealer, "role": "supervisor"},
        {"id": dealer, "role": "player"},
        {"id": playing.id("supervisor"), "role": "supervisor"},
    ):
        forged = await playing.send("dealer", {**close, "by": by})
        assert (forged.status_code, code(forged)) == (403, "door/by")
    stated = {**close, "by": {"id": dealer, "role": "dealer"}}
    assert (await playing.send("dealer", stated)).status_code == 200


async def test_account_with_two_roles_acts_in_the_role_named_in_the_command() -> None:
    async with opened() as setting:
        await seat(setting, betting=False)
        both = setting.add("both", "dealer", "supervisor").id
        setting.assign("both", "1", "supervisor")
        report = {"type": "Report", "irregularity": "equipment-malfunction"}
        as_dealer = {**report, "by": {"id": both, "role": "dealer"}}
        assert code(await setting.send("both", as_dealer)) == "door/by"
        setting.assign("both", "1", "dealer")
        opening = {"type": "OpenBetting", "by": {"id": both, "role": "dealer"}}
        answer = await setting.send("both", opening)
        assert answer.json()["events"][-1]["by"] == {"id": both, "role": "dealer"}


async def test_player_cannot_move_cash_or_state_an_age(playing: Setting) -> None:
    me = playing.id("player")
    for command in (
        {"type": "BuyIn", "amount": 100, "source": "cash"},
        {"type": "BuyIn", "amount": 100},
        {"type": "CashOut", "amount": 100, "to": "outside"},
        {"type": "RepayDebt", "amount": 100, "source": "cash"},
        {"type": "PlaceBet", "amount": 5, "box": "big", "manner": "behalf"},
    ):
        refused = await playing.send("player", {**command, "player": me})
        assert (refused.status_code, code(refused)) == (403, "door/words"), command
    aged = {"type": "BuyIn", "player": me, "amount": 100, "source": "account", "age_years": 99}
    assert code(await playing.send("player", aged)) == "door/age"
    assert await stack(playing, "player") == 1000


async def give_account(setting: Setting, who: str, amount: int) -> None:
    """Have a supervisor open an account for a player and pay in."""
    path = f"/api/accounts/{setting.id(who)}/commands"
    for number, command in enumerate(
        ({"type": "OpenAccount", "currency": "SGD"}, {"type": "Deposit", "amount": amount})
    ):
        client = setting.client("supervisor", **{"Idempotency-Key": f"a{number}"})
        response = await client.post(path, json=command)
        assert response.status_code == 200, response.text
        assert response.json()["events"][0]["by"] == setting.id("supervisor")


async def test_player_moves_money_between_their_account_and_the_table(playing: Setting) -> None:
    me = playing.id("player")
    await give_account(playing, "player", 500)
    buy = {"type": "BuyIn", "player": me, "amount": 100, "source": "account"}
    bought = await playing.send("player", buy)
    assert [each["type"] for each in bought.json()["events"]] == ["BoughtIn", "SentToTable"]
    out = {"type": "CashOut", "player": me, "amount": 50, "to": "account"}
    assert (await playing.send("player", out)).status_code == 200
    account = (await playing.client("player").get(f"/api/accounts/{me}")).json()
    assert account == {"player": me, "currency": "SGD", "balance": 450}
    assert await stack(playing, "player") == 1050


async def test_age_check_uses_the_recorded_birth_date(playing: Setting) -> None:
    """Triple Dice is for grown-ups; nobody becomes one by saying so."""
    await seat(playing, betting=False, game_id="triple-dice/mat", table="t")
    me = playing.id("player")
    await give_account(playing, "player", 500)
    buy = {"type": "BuyIn", "player": me, "amount": 100, "source": "account"}
    assert code(await playing.send("player", buy, table="t")) == "player/age"
    client = playing.client("supervisor")
    year = datetime.now(UTC).year
    for born, expected in ((f"{year - 17}-01-01", "player/age"), (f"{year - 30}-01-01", "")):
        person = {"name": "Ann", "born": born}
        kept = await client.put(f"/api/accounts/{me}/person", json=person)
        assert kept.status_code == 204
        assert code(await playing.send("player", buy, table="t")) == expected
    assert (await client.get(f"/api/accounts/{me}/person")).json() == person
    assert code(await client.delete(f"/api/accounts/{me}/person")) == "door/role"
    manager = playing.client("shift-manager")
    assert (await manager.delete(f"/api/accounts/{me}/person")).status_code == 204
    assert (await client.get(f"/api/accounts/{me}/person")).status_code == 404


async def test_staff_cannot_move_money_of_a_player_account(playing: Setting) -> None:
    buy = {
        "type": "BuyIn",
        "player": playing.id("player"),
        "amount": 100,
        "source": "account",
        "age_years": 30,
    }
    assert code(await playing.send("dealer", buy)) == "door/words"
    cash = await playing.send("dealer", {**buy, "source": "cash"})
    assert cash.status_code == 200, cash.text


async def test_table_cannot_be_established_for_a_file_path(house: Setting, tmp_path: Path) -> None:
    secret = tmp_path / "secret.toml"
    secret.write_text("password = 'in a file'")
    for game in (f"{secret}/a", "../../etc/x.toml/a", "/etc/passwd", "no-such-game"):
        response = await house.send(
            "pit-manager", {"type": "EstablishTable", "game": game}, table="9"
        )
        assert (response.status_code, code(response)) == (404, "unknown/name")
        assert "password" not in response.text
    known = {"type": "EstablishTable", "game": "triple-dice/mat"}
    assert (await house.send("pit-manager", known, table="9")).status_code == 200


async def test_account_command_contradicting_its_path_or_sender_is_refused(
    playing: Setting,
) -> None:
    client = playing.client("supervisor", **{"Idempotency-Key": "k"})
    path = f"/api/accounts/{playing.id('player')}/commands"
    for more, expected in (
        ({"player": playing.id("other player")}, "door/mismatch"),
        ({"by": "somebody-else"}, "door/by"),
        ({"currency": "dollars"}, "door/form"),
    ):
        body = {"type": "OpenAccount", "currency": "SGD", **more}
        assert code(await client.post(path, json=body)) == expected


# --- once ---------------------------------------------------------------------------------------


async def test_reused_idempotency_key_returns_the_first_answer_or_an_error(
    playing: Setting,
) -> None:
    first, again = await playing.bet("player", key="k-1"), await playing.bet("player", key="k-1")
    assert first.content == again.content
    assert await stack(playing, "player") == 995
    other = await playing.bet("player", 10, key="k-1")
    assert (other.status_code, code(other)) == (422, "key/reused")
    assert (await playing.bet("other player", 10, key="k-1")).status_code == 200


async def test_hundred_concurrent_retries_place_one_bet(playing: Setting) -> None:
    before = playing.context.house.command_handler.store.head("table/1").version
    answers = await asyncio.gather(*(playing.bet("player", key="same") for _ in range(100)))
    assert {each.status_code for each in answers} == {200}
    assert len({each.content for each in answers}) == 1
    assert playing.context.house.command_handler.store.head("table/1").version == before + 1
    assert await stack(playing, "player") == 995


async def test_command_outcome_is_visible_only_to_its_sender(playing: Setting) -> None:
    sent = await playing.bet("player", key="k-7")
    told = await playing.client("player").get("/api/commands/k-7")
    assert told.json() == {"accepted": True, "answer": sent.json()}
    nothing = {"accepted": False, "answer": None}
    for who in ("other player", "dealer"):
        assert (await playing.client(who).get("/api/commands/k-7")).json() == nothing
    assert (await playing.client("player").get("/api/commands/k-8")).json() == nothing
    refused = await playing.bet("player", 3, key="k-9")
    assert refused.status_code == 409
    assert (await playing.client("player").get("/api/commands/k-9")).json() == nothing


class SlowStore(MemoryStore):
    """A store that writes, once told to be slow, when it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.writing, self.may_write = Event(), Event()
        self.may_write.set()

    def write(self, proposals: Sequence[Proposal]) -> list[ProposalOutcome]:
        if not self.may_write.is_set():
            self.writing.set()
        assert self.may_write.wait(30)
        return super().write(proposals)


async def test_outcome_query_waits_for_a_command_in_flight() -> None:
    """Asked while the bet is being written, nothing but the truth is told."""
    store = SlowStore()
    async with opened(store=store) as setting:
        await seat(setting)
        client = setting.client("player")
        store.may_write.clear()
        bet = asyncio.create_task(setting.bet("player", key="k-1"))
        assert await asyncio.to_thread(store.writing.wait, 30)
        asking = asyncio.create_task(client.get("/api/commands/k-1"))
        for _ in range(100):
            await asyncio.sleep(0)
        store.may_write.set()
        told = await asking
        assert told.json() == {"accepted": True, "answer": (await bet).json()}


async def test_command_result_for_a_player_omits_other_players(playing: Setting) -> None:
    me, other = playing.id("player"), playing.id("other player")
    close = commands.CloseTable(by=SUPERVISOR)
    answer = await playing.context.house.command_handler.handle(
        close, table="1", account="console", key="close"
    )
    staff = encode_command_result(answer, Caller(playing.accounts["supervisor"], "s"))
    assert me.encode() in staff
    assert other.encode() in staff
    own = encode_command_result(answer, Caller(playing.accounts["player"], "s"))
    assert me.encode() in own
    assert other.encode() not in own


# --- the race with the close --------------------------------------------------------------------

BETS = 10_000
CALLERS = 20


class DirectClient:
    """A client that speaks to the application itself, without a client library's weight."""

    def __init__(self, setting: Setting, who: str) -> None:
        self.setting, self.player = setting, setting.id(who)
        setting.client(who)
        cookie = f"{setting.context.cookie_name}={setting.tokens[who]}".encode()
        self.headers = [
            (b"host", b"house.test"),
            (b"origin", b"http://house.test"),
            (b"content-type", b"application/json"),
            (b"cookie", cookie),
        ]
        self.bet = json.dumps(
            {"type": "PlaceBet", "player": self.player, "box": "big", "amount": 5}
        ).encode()

    async def ask(
        self, method: str, path: str, key: str = "", body: bytes = b""
    ) -> tuple[int, Any]:
        heard: list[Any] = []
        scope = {
            "type": "http", "http_version": "1.1", "method": method, "path": path,
            "raw_path": path.encode(), "query_string": b"", "root_path": "", "scheme": "http",
            "headers": [*self.headers, (b"idempotency-key", key.encode())],
            "client": ("192.0.2.1", 1), "server": ("house.test", 80), "state": {},
            "asgi": {"version": "3.0"},
        }  # fmt: skip

        async def receive() -> Any:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Any) -> None:
            heard.append(message)

        app: Any = self.setting.app
        await app(scope, receive, send)
        return heard[0]["status"], json.loads(heard[1]["body"])

    async def place(self, key: str) -> tuple[int, Any]:
        return await self.ask("POST", "/api/tables/1/commands", key, self.bet)

    async def close(self) -> tuple[int, Any]:
        body = b'{"type": "CloseBetting"}'
        return await self.ask("POST", "/api/tables/1/commands", "close", body)


async def test_no_bet_racing_with_the_close_is_lost_or_accepted_late(tmp_path: Path) -> None:
    """None is accepted after it, none that was accepted is lost, and every caller is told which."""
    store = open_store(f"sqlite:///{tmp_path / 'house.sqlite'}", serving=True)
    try:
        async with opened(store=store) as setting:
            names = [f"racer {number}" for number in range(CALLERS)]
            for name in names:
                setting.add(name, "player")
            await seat(setting, *names)
            for name in names:
                more = commands.BuyIn(
                    by=DEALER, player=setting.id(name), amount=10_000, age_years=30
                )
                await setting.context.house.command_handler.handle(
                    more, table="1", account="console", key=f"more {name}"
                )
            callers = [DirectClient(setting, name) for name in names]
            setting.assign("dealer")

            dealer = DirectClient(setting, "dealer")
            planned = [(caller, f"b{i}") for i in range(BETS // CALLERS) for caller in callers]
            asking = [caller.place(key) for caller, key in planned]
            asking.insert(BETS // 2, dealer.close())  # in the middle of them
            answers = await asyncio.gather(*asking)
            assert answers.pop(BETS // 2)[0] == 200
            told = list(zip(planned, answers, strict=True))
            entries = list(store.scan("table/1"))
            events = [(entry.version, decode(entry)) for entry in entries]
            (close_version,) = [v for v, event in events if isinstance(event, BettingClosed)]
            placed = {v: event for v, event in events if isinstance(event, BetPlaced)}
            assert max(placed) < close_version
            accepted: set[int] = set()
            refused = 0
            for (caller, _), (status, answer) in told:
                if status == 200:
                    assert placed[answer["version"]].player == caller.player
                    assert answer["version"] not in accepted
                    accepted.add(answer["version"])
                else:
                    assert (status, answer["code"]) == (409, "betting/closed"), answer
                    refused += 1
            for (caller, key), (status, _) in told[::97]:
                _, outcome = await caller.ask("GET", f"/api/commands/{key}")
                assert outcome["accepted"] is (status == 200)
            assert accepted == set(placed)
            assert refused == BETS - len(accepted)
            assert refused
            assert accepted
    finally:
        store.close()
