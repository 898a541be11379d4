"""Queries: rate limits with their headers, answers from the cache, revalidation by ETag."""

from __future__ import annotations

import asyncio
import threading
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from tests.api.house_app import GAME, ORIGIN, open_house_app, problem_code, seat_players
from tests.house.house_driver import DEALER, SUPERVISOR, People
from threedice.api.context import MAX_WAITING_QUERIES
from threedice.api.http.limits import Turnstile
from threedice.errors import QueueFull
from threedice.table.commands import CorrectBet

if TYPE_CHECKING:
    import httpx

    from tests.api.house_app import HouseApp

pytestmark = pytest.mark.anyio

OTHER_GAME = "macau-sic-bo/main"
ODDS = f"/api/rulebooks/{GAME}/odds"
MIX = f"/api/rulebooks/{GAME}/mix"
EXPLANATION = "/api/tables/1/rounds/1/explanation"


async def repeat_until_refused(client: httpx.AsyncClient, path: str) -> httpx.Response:
    """Repeat a query until it is refused; the limit must be far below a thousand."""
    for _ in range(1000):
        response = await client.get(path)
        if response.status_code == 429:
            return response
    raise AssertionError(f"{path} is not limited")


def answers(house: HouseApp, *, cached: str) -> float:
    """Return how many expensive queries were answered, from the cache or not."""
    labels = {"cached": cached}
    return house.context.metrics.registry.get_sample_value("threedice_answers_total", labels) or 0.0


# --- rate limits --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", ["/api/tables", "/api/tables/1", ODDS, "/api/session", "/api/tables/none/room"]
)
async def test_query_rate_is_limited_per_account(path: str) -> None:
    async with open_house_app(queries_per_second=1) as house:
        await seat_players(house)
        refused = await repeat_until_refused(house.client("player"), path)
        assert problem_code(refused) == "door/rate"
        assert int(refused.headers["retry-after"]) >= 1
        assert refused.headers["ratelimit-remaining"] == "0"
        assert (await house.client("other player").get("/api/tables")).status_code == 200


async def test_query_responses_state_the_rate_limit() -> None:
    async with open_house_app(queries_per_second=50) as house:
        first, second = [await house.client("player").get("/api/tables") for _ in range(2)]
        assert first.headers["ratelimit-limit"] == second.headers["ratelimit-limit"] == "200"
        assert int(second.headers["ratelimit-remaining"]) <= 199
        assert int(second.headers["ratelimit-reset"]) >= 1


async def test_limit_of_queries_leaves_the_commands_of_an_account_alone() -> None:
    async with open_house_app(queries_per_second=1) as house:
        await seat_players(house)
        await repeat_until_refused(house.client("player"), "/api/tables")
        assert (await house.bet("player")).status_code == 200


@pytest.mark.parametrize("path", ["/api/house", "/api/openapi.json", "/health", "/api/tables"])
async def test_strangers_at_an_address_share_one_limit(path: str) -> None:
    async with open_house_app(queries_per_second=1) as house:
        refused = await repeat_until_refused(house.client(), path)
        assert (refused.headers["ratelimit-limit"], problem_code(refused)) == ("40", "door/rate")
        assert (await house.client("player").get("/api/tables")).status_code == 200


async def test_made_up_tokens_count_as_strangers() -> None:
    async with open_house_app(queries_per_second=1) as house:
        statuses = set()
        for number in range(60):
            client = house.client(Authorization=f"Bearer td_made-up-{number}")
            statuses.add((await client.get("/api/tables")).status_code)
        assert statuses == {401, 429}


async def test_flood_of_queries_does_not_keep_others_at_the_address_from_signing_in() -> None:
    async with open_house_app(queries_per_second=1) as house:
        await repeat_until_refused(house.client(), "/api/house")
        credentials = {"name": "player-name", "password": "not the right one"}
        response = await house.client().post("/api/session", json=credentials)
        assert response.status_code == 401


async def test_all_callers_of_an_address_share_a_higher_limit() -> None:
    async with open_house_app(queries_per_second=1) as house:
        limits = house.context.query_limits
        taken = [limits.take_address("10.0.0.1") for _ in range(300)]
        assert taken[0] == (0.0, None)
        seconds, allowance = taken[-1]
        assert seconds > 0
        assert allowance is not None
        assert (allowance.limit, allowance.remaining) == (200, 0)
        assert limits.take_address("10.0.0.2") == (0.0, None)


async def test_handshakes_of_strangers_share_the_limit_of_their_address() -> None:
    async with open_house_app(queries_per_second=1) as house:
        statuses = [await open_socket(house) for _ in range(60)]
        assert set(statuses) == {401, 429}
        assert (await house.client("player").get("/api/tables")).status_code == 200


async def open_socket(house: HouseApp) -> int:
    """Open a socket without a session, and return the status of the refusal."""
    sent: list[Any] = []
    scope: Any = {
        "type": "websocket", "path": "/api/tables/1/live", "raw_path": b"/api/tables/1/live",
        "query_string": b"", "root_path": "", "scheme": "ws", "subprotocols": [], "state": {},
        "headers": [(b"host", b"house.test"), (b"origin", ORIGIN.encode())],
        "client": ("10.0.0.1", 1), "server": ("house.test", 80),
        "extensions": {"websocket.http.response": {}},
    }  # fmt: skip

    async def receive() -> Any:
        return {"type": "websocket.connect"}

    async def send(message: Any) -> None:
        sent.append(message)

    await house.app(scope, receive, send)
    return int(sent[0]["status"])


async def test_slow_queries_of_one_account_do_not_fill_the_queue(house: HouseApp) -> None:
    queue, released = house.context.history, threading.Event()
    greedy = [asyncio.create_task(queue.run("greedy", released.wait)) for _ in range(150)]
    modest = asyncio.create_task(queue.run("modest", lambda: "answered"))
    await asyncio.sleep(0)  # all have begun
    released.set()
    results = await asyncio.gather(*greedy, return_exceptions=True)
    waiting = MAX_WAITING_QUERIES - 1  # beside the modest one
    assert sum(isinstance(each, QueueFull) for each in results) == 150 - 1 - waiting
    assert await modest == "answered"


async def test_requests_begin_one_per_iteration_in_the_order_of_their_arrival() -> None:
    turnstile, order = Turnstile(per_iteration=1), list[int]()

    async def call(number: int) -> None:
        await turnstile.enter()
        order.append(number)

    calls = [asyncio.create_task(call(number)) for number in range(5)]
    calls[2].cancel()
    begun = []
    while not all(task.done() for task in calls):
        await asyncio.sleep(0)
        begun.append(len(order))
    assert order == [0, 1, 3, 4]
    assert all(after - before <= 1 for before, after in pairwise([0, *begun]))


# --- the cache ----------------------------------------------------------------------------------


async def test_repeated_mix_is_answered_from_the_cache_in_any_order_of_its_stakes(
    house: HouseApp,
) -> None:
    client = house.client("player")
    orders: list[Any] = [{"big": 5, "total:10": 7}, {"total:10": 7, "big": 5}]
    first, second = [(await client.post(MIX, json={"stakes": each})).json() for each in orders]
    assert first == second
    assert (answers(house, cached="no"), answers(house, cached="yes")) == (1, 1)
    other = await client.post(MIX, json={"stakes": {"big": 6, "total:10": 7}})
    assert other.json() != first
    assert answers(house, cached="no") == 2


async def test_explanation_is_cached_until_a_correction_changes_it(house_in_play: HouseApp) -> None:
    await house_in_play.bet("player", 5, "small")
    people, player = People(house_in_play.handler), house_in_play.id("player")
    await people.play("dice 1 2 3", "open betting")
    settled = await house_in_play.get("player", EXPLANATION)
    assert (await house_in_play.bet("player")).status_code == 200  # in the next round
    assert await house_in_play.get("player", EXPLANATION) == settled
    assert (answers(house_in_play, cached="no"), answers(house_in_play, cached="yes")) == (1, 1)

    await people.send(
        CorrectBet(
            by=DEALER, approved_by=SUPERVISOR, round=1, player=player, amount=5, reason="a reason"
        )
    )

    corrected = await house_in_play.get("player", EXPLANATION)
    assert len(corrected[0]["lines"]) == len(settled[0]["lines"]) + 1
    assert answers(house_in_play, cached="no") == 2


async def test_explanation_of_the_current_round_follows_every_bet(house_in_play: HouseApp) -> None:
    await house_in_play.bet("player")
    before = await house_in_play.get("player", EXPLANATION)
    await house_in_play.bet("player", 25)
    assert await house_in_play.get("player", EXPLANATION) != before


async def test_explanations_of_different_players_are_not_mixed_up(house_in_play: HouseApp) -> None:
    await house_in_play.bet("player", 5, "small")
    await house_in_play.bet("other player", 5, "big")
    await house_in_play.finish_round()
    mine = await house_in_play.get("player", EXPLANATION)
    theirs = await house_in_play.get("other player", EXPLANATION)
    assert ([each["spot"] for each in mine], [each["spot"] for each in theirs]) == (
        ["small"],
        ["big"],
    )


# --- revalidation -------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [ODDS, "/api/openapi.json"])
async def test_odds_and_openapi_are_revalidated_by_etag(house: HouseApp, path: str) -> None:
    client = house.client("player")
    first = await client.get(path)
    tag = first.headers["etag"]
    assert (first.headers["cache-control"], tag[0]) == ("no-cache", '"')
    for known in (tag, f'"another", {tag}', f"W/{tag}", "*"):
        again = await client.get(path, headers={"If-None-Match": known})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
        assert again.headers["cache-control"] == "no-cache"
        assert again.headers["x-content-type-options"] == "nosniff"
    changed = await client.get(path, headers={"If-None-Match": '"another"'})
    assert (changed.status_code, changed.content) == (200, first.content)


async def test_etags_of_different_games_differ(house: HouseApp) -> None:
    client = house.client("player")
    sheets = [await client.get(f"/api/rulebooks/{game}/odds") for game in (GAME, OTHER_GAME)]
    assert len({sheet.headers["etag"] for sheet in sheets}) == 2


async def test_known_etag_does_not_bypass_the_sign_in(house: HouseApp) -> None:
    tag = (await house.client("player").get(ODDS)).headers["etag"]
    response = await house.client().get(ODDS, headers={"If-None-Match": tag})
    assert (response.status_code, response.headers["cache-control"]) == (401, "no-store")


@pytest.mark.parametrize(
    "path", ["/api/tables", "/api/house", f"/api/rulebooks/{GAME}", EXPLANATION]
)
async def test_other_answers_are_not_stored_by_clients(house_in_play: HouseApp, path: str) -> None:
    response = await house_in_play.client("player").get(path)
    assert (response.status_code, response.headers["cache-control"]) == (200, "no-store")
    assert "etag" not in response.headers
