"""Commands over HTTP: the sender, idempotency, and the race with the close of betting."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest

from tests.api.house_app import DEALER, SUPERVISOR, open_house_app, problem_code, seat_players
from tests.api.test_approvals import new_limits
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

    from tests.api.house_app import HouseApp
    from threedice.log.records import Proposal, ProposalOutcome

pytestmark = pytest.mark.anyio


async def stack(house: HouseApp, who: str) -> int:
    seats = (await house.handler.table("1")).table.seats
    return seats[house.id(who)].stack


# --- the sender of a command --------------------------------------------------------------------


async def test_placing_a_bet_returns_its_events(house_in_play: HouseApp) -> None:
    response = await house_in_play.bet("player", 25)
    answer = response.json()
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/json"
    (event,) = answer["events"]
    assert (event["type"], event["amount"]) == ("BetPlaced", 25)
    assert event["by"] == {"id": house_in_play.id("player"), "role": "player"}
    assert answer["version"] == house_in_play.store.head("table/1").version
    assert await stack(house_in_play, "player") == 975


async def test_forged_sender_in_a_player_command_is_refused(house_in_play: HouseApp) -> None:
    me, other = house_in_play.id("player"), house_in_play.id("other player")
    bet = {"type": "PlaceBet", "player": me, "box": "big", "amount": 5}
    own = {"id": me, "role": "player"}
    assert (await house_in_play.send("player", {**bet, "by": own})).status_code == 200
    for by in (
        {"id": other, "role": "player"},
        {"id": me, "role": "dealer"},
        {"id": me, "role": "shooter"},
        {"id": "house", "role": "dealer"},
        {"id": "", "role": "player"},
    ):
        forged = await house_in_play.send("player", {**bet, "by": by})
        assert (forged.status_code, problem_code(forged)) == (403, "door/by"), by
    assert (await house_in_play.send("player", {**bet, "by": "me"})).status_code == 422
    assert await stack(house_in_play, "player") == 995


async def test_forged_role_in_a_dealer_command_is_refused(house_in_play: HouseApp) -> None:
    dealer = house_in_play.id("dealer")
    close = {"type": "CloseBetting"}
    for by in (
        {"id": dealer, "role": "supervisor"},
        {"id": dealer, "role": "player"},
        {"id": house_in_play.id("supervisor"), "role": "supervisor"},
    ):
        forged = await house_in_play.send("dealer", {**close, "by": by})
        assert (forged.status_code, problem_code(forged)) == (403, "door/by")
    stated = {**close, "by": {"id": dealer, "role": "dealer"}}
    assert (await house_in_play.send("dealer", stated)).status_code == 200


async def test_account_with_two_roles_acts_in_the_role_named_in_the_command() -> None:
    async with open_house_app() as house:
        await seat_players(house, betting=False)
        both = house.add_account("both", "dealer", "supervisor").id
        house.assign("both", "1", "supervisor")
        report = {"type": "Report", "irregularity": "equipment-malfunction"}
        as_dealer = {**report, "by": {"id": both, "role": "dealer"}}
        assert problem_code(await house.send("both", as_dealer)) == "door/by"
        house.assign("both", "1", "dealer")
        opening = {"type": "OpenBetting", "by": {"id": both, "role": "dealer"}}
        answer = await house.send("both", opening)
        assert answer.json()["events"][-1]["by"] == {"id": both, "role": "dealer"}


async def test_player_cannot_move_cash_or_state_an_age(house_in_play: HouseApp) -> None:
    me = house_in_play.id("player")
    for command in (
        {"type": "BuyIn", "amount": 100, "source": "cash"},
        {"type": "BuyIn", "amount": 100},
        {"type": "CashOut", "amount": 100, "to": "outside"},
        {"type": "RepayDebt", "amount": 100, "source": "cash"},
        {"type": "PlaceBet", "amount": 5, "box": "big", "manner": "behalf"},
    ):
        refused = await house_in_play.send("player", {**command, "player": me})
        assert (refused.status_code, problem_code(refused)) == (403, "door/words"), command
    aged = {"type": "BuyIn", "player": me, "amount": 100, "source": "account", "age_years": 99}
    assert problem_code(await house_in_play.send("player", aged)) == "door/age"
    assert await stack(house_in_play, "player") == 1000


async def open_account(house: HouseApp, who: str, amount: int) -> None:
    """Have a supervisor open an account for a player and deposit money."""
    path = f"/api/accounts/{house.id(who)}/commands"
    for number, command in enumerate(
        ({"type": "OpenAccount", "currency": "SGD"}, {"type": "Deposit", "amount": amount})
    ):
        client = house.client("supervisor", **{"Idempotency-Key": f"a{number}"})
        response = await client.post(path, json=command)
        assert response.status_code == 200, response.text
        assert response.json()["events"][0]["by"] == house.id("supervisor")


async def test_player_moves_money_between_their_account_and_the_table(
    house_in_play: HouseApp,
) -> None:
    me = house_in_play.id("player")
    await open_account(house_in_play, "player", 500)
    buy = {"type": "BuyIn", "player": me, "amount": 100, "source": "account"}
    bought = await house_in_play.send("player", buy)
    assert [each["type"] for each in bought.json()["events"]] == ["BoughtIn", "SentToTable"]
    out = {"type": "CashOut", "player": me, "amount": 50, "to": "account"}
    assert (await house_in_play.send("player", out)).status_code == 200
    account = (await house_in_play.client("player").get(f"/api/accounts/{me}")).json()
    assert account == {"player": me, "currency": "SGD", "balance": 450}
    assert await stack(house_in_play, "player") == 1050


async def test_age_check_uses_the_recorded_birth_date(house_in_play: HouseApp) -> None:
    """Triple Dice has a minimum age."""
    await seat_players(house_in_play, betting=False, game_id="triple-dice/mat", table="t")
    me = house_in_play.id("player")
    await open_account(house_in_play, "player", 500)
    buy = {"type": "BuyIn", "player": me, "amount": 100, "source": "account"}
    assert problem_code(await house_in_play.send("player", buy, table="t")) == "player/age"
    client = house_in_play.client("supervisor")
    year = datetime.now(UTC).year
    for born, expected in ((f"{year - 17}-01-01", "player/age"), (f"{year - 30}-01-01", "")):
        person = {"name": "Ann", "born": born}
        kept = await client.put(f"/api/accounts/{me}/person", json=person)
        assert kept.status_code == 204
        assert problem_code(await house_in_play.send("player", buy, table="t")) == expected
    assert (await client.get(f"/api/accounts/{me}/person")).json() == person
    assert problem_code(await client.delete(f"/api/accounts/{me}/person")) == "door/role"
    manager = house_in_play.client("shift-manager")
    assert (await manager.delete(f"/api/accounts/{me}/person")).status_code == 204
    assert (await client.get(f"/api/accounts/{me}/person")).status_code == 404


async def test_staff_cannot_move_money_of_a_player_account(house_in_play: HouseApp) -> None:
    buy = {
        "type": "BuyIn",
        "player": house_in_play.id("player"),
        "amount": 100,
        "source": "account",
        "age_years": 30,
    }
    assert problem_code(await house_in_play.send("dealer", buy)) == "door/words"
    cash = await house_in_play.send("dealer", {**buy, "source": "cash"})
    assert cash.status_code == 200, cash.text


async def test_table_cannot_be_established_for_a_file_path(house: HouseApp, tmp_path: Path) -> None:
    secret = tmp_path / "secret.toml"
    secret.write_text("password = 'in a file'")
    for game in (f"{secret}/a", "../../etc/x.toml/a", "/etc/passwd", "no-such-game"):
        response = await house.send(
            "pit-manager", {"type": "EstablishTable", "game": game}, table="9"
        )
        assert (response.status_code, problem_code(response)) == (404, "unknown/name")
        assert "password" not in response.text
    known = await house.request(
        "pit-manager", {"type": "EstablishTable", "game": "triple-dice/mat"}, place="tables/9"
    )
    assert (await house.approve("shift-manager", known)).status_code == 200


async def test_account_command_contradicting_its_path_or_sender_is_refused(
    house_in_play: HouseApp,
) -> None:
    client = house_in_play.client("supervisor", **{"Idempotency-Key": "k"})
    path = f"/api/accounts/{house_in_play.id('player')}/commands"
    for more, expected in (
        ({"player": house_in_play.id("other player")}, "door/mismatch"),
        ({"by": "somebody-else"}, "door/by"),
        ({"currency": "dollars"}, "door/form"),
    ):
        body = {"type": "OpenAccount", "currency": "SGD", **more}
        assert problem_code(await client.post(path, json=body)) == expected


async def test_account_in_another_currency_than_the_house_is_refused(house: HouseApp) -> None:
    player = house.id("player")
    client = house.client("shift-manager", **{"Idempotency-Key": "k"})
    body = {"type": "OpenAccount", "currency": "USD"}
    refused = await client.post(f"/api/accounts/{player}/commands", json=body)
    assert (refused.status_code, problem_code(refused)) == (422, "door/currency")
    assert refused.json()["facts"] == {"house": "SGD", "currency": "USD"}
    assert not house.store.head(f"cage/{player}").version


async def test_table_in_another_currency_than_the_house_is_refused(house: HouseApp) -> None:
    establish = {"type": "EstablishTable", "game": "sg-rws-tai-sai-v6/a"}
    assert (await house.send("pit-manager", establish)).is_success
    body = {
        "type": "OpenTable", "table": "1", "currency": "USD", "mode": "refuse", "chips": [5],
        "float_amount": 0, "limits": new_limits()["limits"],
    }  # fmt: skip
    version = house.store.head("table/1").version
    refused = await house.send("pit-manager", body)
    assert (refused.status_code, problem_code(refused)) == (422, "door/currency")
    assert "SGD, not in USD" in refused.json()["detail"]
    assert house.store.head("table/1").version == version


# --- idempotency --------------------------------------------------------------------------------


async def test_reused_idempotency_key_returns_the_first_answer_or_an_error(
    house_in_play: HouseApp,
) -> None:
    first, again = (
        await house_in_play.bet("player", key="k-1"),
        await house_in_play.bet("player", key="k-1"),
    )
    assert first.content == again.content
    assert await stack(house_in_play, "player") == 995
    other = await house_in_play.bet("player", 10, key="k-1")
    assert (other.status_code, problem_code(other)) == (422, "key/reused")
    assert (await house_in_play.bet("other player", 10, key="k-1")).status_code == 200


async def test_hundred_concurrent_retries_place_one_bet(house_in_play: HouseApp) -> None:
    before = house_in_play.store.head("table/1").version
    answers = await asyncio.gather(*(house_in_play.bet("player", key="same") for _ in range(100)))
    assert {each.status_code for each in answers} == {200}
    assert len({each.content for each in answers}) == 1
    assert house_in_play.store.head("table/1").version == before + 1
    assert await stack(house_in_play, "player") == 995


async def test_command_outcome_is_visible_only_to_its_sender(house_in_play: HouseApp) -> None:
    sent = await house_in_play.bet("player", key="k-7")
    outcome = await house_in_play.client("player").get("/api/commands/k-7")
    assert outcome.json() == {"status": "accepted", "answer": sent.json(), "problem": None}
    nothing = {"status": "unknown", "answer": None, "problem": None}
    for who in ("other player", "dealer"):
        assert (await house_in_play.client(who).get("/api/commands/k-7")).json() == nothing
    assert (await house_in_play.client("player").get("/api/commands/k-8")).json() == nothing
    refused = await house_in_play.bet("player", 3, key="k-9")
    assert refused.status_code == 409
    outcome = await house_in_play.client("player").get("/api/commands/k-9")
    assert outcome.json() == {"status": "refused", "answer": None, "problem": refused.json()}


class SlowStore(MemoryStore):
    """A store whose writes can be held back."""

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
    store = SlowStore()
    async with open_house_app(store=store) as house:
        await seat_players(house)
        client = house.client("player")
        store.may_write.clear()
        bet = asyncio.create_task(house.bet("player", key="k-1"))
        assert await asyncio.to_thread(store.writing.wait, 30)
        query = asyncio.create_task(client.get("/api/commands/k-1"))
        for _ in range(100):
            await asyncio.sleep(0)
        store.may_write.set()
        outcome = await query
        assert outcome.json()["status"] == "accepted"
        assert outcome.json()["answer"] == (await bet).json()


async def test_command_result_for_a_player_omits_other_players(house_in_play: HouseApp) -> None:
    me, other = house_in_play.id("player"), house_in_play.id("other player")
    close = commands.CloseTable(by=SUPERVISOR)
    answer = await house_in_play.handler.handle(close, table="1", account="console", key="close")
    staff = encode_command_result(answer, Caller(house_in_play.accounts["supervisor"], "s"))
    assert me.encode() in staff
    assert other.encode() in staff
    own = encode_command_result(answer, Caller(house_in_play.accounts["player"], "s"))
    assert me.encode() in own
    assert other.encode() not in own


# --- the race with the close --------------------------------------------------------------------

BETS = 3_000
CALLERS = 20


class DirectClient:
    """A client that calls the ASGI application directly, without the cost of a client library."""

    def __init__(self, house: HouseApp, who: str) -> None:
        self.house, self.player = house, house.id(who)
        house.client(who)
        cookie = f"{house.context.cookie_name}={house.tokens[who]}".encode()
        self.headers = [
            (b"host", b"house.test"),
            (b"origin", b"http://house.test"),
            (b"content-type", b"application/json"),
            (b"cookie", cookie),
        ]
        self.bet = json.dumps(
            {"type": "PlaceBet", "player": self.player, "box": "big", "amount": 5}
        ).encode()

    async def request(
        self, method: str, path: str, key: str = "", body: bytes = b""
    ) -> tuple[int, Any]:
        messages: list[Any] = []
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
            messages.append(message)

        app: Any = self.house.app
        await app(scope, receive, send)
        return messages[0]["status"], json.loads(messages[1]["body"])

    async def place(self, key: str) -> tuple[int, Any]:
        return await self.request("POST", "/api/tables/1/commands", key, self.bet)

    async def close(self) -> tuple[int, Any]:
        body = b'{"type": "CloseBetting"}'
        return await self.request("POST", "/api/tables/1/commands", "close", body)


async def test_no_bet_racing_with_the_close_is_lost_or_accepted_late(tmp_path: Path) -> None:
    """Every caller learns whether their bet was accepted."""
    store = open_store(f"sqlite:///{tmp_path / 'house.sqlite'}", serving=True)
    try:
        async with open_house_app(store=store) as house:
            names = [f"racer {number}" for number in range(CALLERS)]
            for name in names:
                house.add_account(name, "player")
            await seat_players(house, *names)
            for name in names:
                more = commands.BuyIn(by=DEALER, player=house.id(name), amount=10_000, age_years=30)
                await house.handler.handle(more, table="1", account="console", key=f"more {name}")
            callers = [DirectClient(house, name) for name in names]
            house.assign("dealer")

            dealer = DirectClient(house, "dealer")
            planned = [(caller, f"b{i}") for i in range(BETS // CALLERS) for caller in callers]
            requests = [caller.place(key) for caller, key in planned]
            requests.insert(BETS // 2, dealer.close())
            answers = await asyncio.gather(*requests)
            assert answers.pop(BETS // 2)[0] == 200
            outcomes = list(zip(planned, answers, strict=True))
            entries = list(store.scan("table/1"))
            events = [(entry.version, decode(entry)) for entry in entries]
            (close_version,) = [v for v, event in events if isinstance(event, BettingClosed)]
            placed = {v: event for v, event in events if isinstance(event, BetPlaced)}
            assert max(placed) < close_version
            accepted: set[int] = set()
            refused = 0
            for (caller, _), (status, answer) in outcomes:
                if status == 200:
                    assert placed[answer["version"]].player == caller.player
                    assert answer["version"] not in accepted
                    accepted.add(answer["version"])
                else:
                    assert (status, answer["code"]) == (409, "betting/closed"), answer
                    refused += 1
            for (caller, key), (status, _) in outcomes[::97]:
                _, outcome = await caller.request("GET", f"/api/commands/{key}")
                assert outcome["status"] == ("accepted" if status == 200 else "refused")
            assert accepted == set(placed)
            assert refused == BETS - len(accepted)
            assert refused
            assert accepted
    finally:
        store.close()
