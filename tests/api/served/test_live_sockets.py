"""Following a table over a real socket: hello, what was missed, what happens, and who may not."""

from __future__ import annotations

import asyncio
import random
import time
from contextlib import AsyncExitStack, suppress
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.api.live_house import PASSWORD, closing, hear, hear_until, serving
from threedice.api.http.limits import RateLimiter
from threedice.api.live.hub import MAX_SOCKETS_PER_ACCOUNT
from threedice.house.stream_state import table_stream
from threedice.identity import open_identity
from threedice.identity.passwords import TEST_COST
from threedice.log.entry import NewEntry, extend_stream
from threedice.log.records import Append, Proposal

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from tests.api.live_house import Served

pytestmark = pytest.mark.anyio


# --- what is said -------------------------------------------------------------------------------


async def test_player_receives_the_table_view_and_then_its_events(served: Served) -> None:
    ids = await served.seat(ann=1000, bob=1000)
    ann = served.sign_in("ann", "player")
    async with served.follow(ann) as socket:
        hello = await hear(socket)
        assert hello["type"] == "hello"
        assert hello["protocol"] == 1
        assert abs(hello["server_time"] - time.time_ns() // 1000) < 60_000_000
        assert hello["version"] == hello["view"]["version"] == await served.head()
        assert list(hello["view"]["seats"]) == [ids["ann"]]
        await served.play("open betting")
        await served.bet(ids["bob"], 50, "big")
        await served.bet(ids["ann"], 25, "small")
        events = await hear_until(socket, await served.head())
    assert [each["version"] for each in events] == [
        hello["version"] + number for number in range(1, len(events) + 1)
    ]
    bobs, anns = events[-2:]
    assert bobs["event"] is None
    assert bobs["totals"] == {"big": 50}
    assert anns["event"]["amount"] == 25
    assert ids["bob"] not in str(events)


async def test_staff_see_all_seats_only_at_assigned_tables(served: Served) -> None:
    ids = await served.seat(ann=1000)
    here = served.sign_in("dora", "dealer")
    async with served.follow(here) as socket:
        hello = await hear(socket)
        assert hello["audience"] == "staff"
        assert set(hello["view"]["seats"]) == {"nobody", ids["ann"]}
        await served.play("open betting")
        await served.bet(ids["ann"], 50, "big")
        events = await hear_until(socket, await served.head())
        assert events[-1]["event"]["player"] == ids["ann"]
    people = served.context.identity
    (post,) = people.assignments.current(account=served.account("dora", "dealer").id)
    people.assignments.end(post.id)
    async with served.follow(here) as socket:
        hello = await hear(socket)
        assert (hello["audience"], hello["player"], hello["view"]["seats"]) == ("player", "", {})


async def test_reconnecting_client_receives_exactly_the_missed_events(served: Served) -> None:
    ids = await served.seat(ann=1000)
    token = served.sign_in("ann", "player")
    async with served.follow(token) as socket:
        version = (await hear(socket))["version"]
    await served.play("open betting")
    await bet_on(served, ids["ann"], 10)
    async with served.follow(token, f"?after={version + 3}") as socket:
        hello = await hear(socket)
        assert (hello["version"], hello["view"]) == (version + 3, None)
        await served.bet(ids["ann"], 10, "small")
        last = await served.head()
        events = await hear_until(socket, last)
    assert [each["version"] for each in events] == list(range(version + 4, last + 1))


async def test_client_resuming_from_version_zero_receives_the_whole_stream(served: Served) -> None:
    ids = await served.seat(ann=100_000)
    await served.play("open betting")
    await asyncio.gather(*(served.bet(ids["ann"], 5, "big") for _ in range(700)))
    last = await served.head()
    async with served.follow(served.sign_in("sue", "supervisor"), "?after=0") as socket:
        assert (await hear(socket))["version"] == 0
        events = await hear_until(socket, last)
    assert [each["version"] for each in events] == list(range(1, last + 1))
    stored = served.context.house.command_handler.store.scan(table_stream(served.table))
    assert [each["event"] for each in events] == [msgspec.json.decode(each.data) for each in stored]


async def test_client_resuming_from_a_future_version_receives_the_current_view(
    served: Served,
) -> None:
    token = served.program("ann", "player")
    async with served.follow(token, "?after=999999") as socket:
        hello = await hear(socket)
    assert hello["version"] == hello["view"]["version"] == await served.head()


async def test_repeated_reconnects_deliver_every_event_exactly_once(
    served: Served,
) -> None:
    ids = await served.seat(ann=1_000_000)
    await served.play("open betting")
    token, start = served.program("ann", "player"), await served.head()
    seen, chance = list[int](), random.Random(5)
    done = asyncio.create_task(bet_on(served, ids["ann"], 600))
    while not done.done() or len(seen) < 600:
        after = seen[-1] if seen else start
        async with served.follow(token, f"?after={after}") as socket:
            assert (await hear(socket))["version"] == after
            for _ in range(chance.randint(0, 4)):
                if seen and seen[-1] - start == 600:
                    break
                seen += [each["version"] for each in (await hear(socket))["events"]]
    await done
    assert seen == list(range(start + 1, start + 601))


async def bet_on(served: Served, player: str, count: int) -> None:
    for start in range(0, count, 20):
        bets = (served.bet(player, 5, "big") for _ in range(start, min(start + 20, count)))
        await asyncio.gather(*bets)


async def test_suspension_and_release_are_broadcast(served: Served) -> None:
    async with served.follow(served.program("ann", "player")) as socket:
        await hear(socket)
        served.context.house.command_handler.streams.writer.suspend("the disk is full")
        assert await hear(socket) == {"type": "standing", "suspended": True}
        served.context.house.command_handler.streams.writer.halt_reason = ""
        assert await hear(socket) == {"type": "standing", "suspended": False}


async def test_stopping_server_closes_sockets_with_going_away(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        socket = await served.follow(served.program("ann", "player"))
        await hear(socket)
    assert await closing(socket) == 1001


async def test_corrupt_stream_closes_only_the_sockets_of_its_table(
    served: Served, house: Served
) -> None:
    other = await house.at_a_new_table()
    async with (
        served.follow(served.program("ann", "player")) as here,
        other.follow(other.program("ann", "player")) as there,
    ):
        await hear(here)
        await hear(there)
        await asyncio.to_thread(write_nonsense, served)
        served.context.house.feed.poll_now()
        assert await closing(here) == 1011
        await other.play("open betting")
        await hear_until(there, await other.head())


def write_nonsense(served: Served) -> None:
    """Append something to the table's stream that is no event."""
    store, stream = served.context.house.command_handler.store, table_stream(served.table)
    head = store.head(stream)
    entries, _ = extend_stream(head, stream, 1, b"", [NewEntry("Nonsense", 1, b"{}")])
    append = Append(stream, head, tuple(entries))
    store.write([Proposal("console", f"nonsense {served.table}", b"\0" * 32, (append,))])


# --- what is not taken --------------------------------------------------------------------------


async def test_ping_is_answered_with_its_echo(served: Served) -> None:
    async with served.follow(served.program("ann", "player")) as socket:
        await hear(socket)
        await socket.send('{"type":"ping","echo":"7"}')
        pong = await hear(socket)
    assert (pong["type"], pong["echo"]) == ("pong", "7")


async def test_command_over_a_socket_is_refused_and_repetition_closes_it(served: Served) -> None:
    ids = await served.seat(ann=1000)
    await served.play("open betting")
    before = await served.head()
    bet = f'{{"type":"PlaceBet","player":"{ids["ann"]}","box":"big","amount":5}}'
    async with served.follow(served.sign_in("ann", "player")) as socket:
        await hear(socket)
        await socket.send(bet)
        refused = await hear(socket)
        assert (refused["type"], refused["code"]) == ("refused", "live/not-a-ping")
        for _ in range(4):
            await socket.send(bet)
        assert await closing(socket) == 1008
    assert await served.head() == before


@pytest.mark.parametrize(
    ("message", "code"),
    [("x" * 2000, 1009), ("x" * 100_000, 1009), (b"\xff" * 2000, 1009)],
)
async def test_a_long_message_closes_the_socket(
    served: Served, message: str | bytes, code: int
) -> None:
    async with served.follow(served.program("ann", "player")) as socket:
        await hear(socket)
        await socket.send(message)
        assert await closing(socket) == code


async def test_a_flood_of_messages_closes_the_socket(served: Served) -> None:
    async with served.follow(served.program("ann", "player")) as socket:
        await flood(lambda: socket.send('{"type":"ping"}'))
        assert await closing(socket) == 1008


async def flood(say: Callable[[], Awaitable[Any]]) -> None:
    """Say something again and again until nobody listens."""
    with suppress(ConnectionClosed):
        for _ in range(1000):
            await say()
            await asyncio.sleep(0)


async def test_a_flood_of_ping_frames_closes_the_socket(served: Served) -> None:
    async with served.follow(served.program("ann", "player"), ping_interval=None) as socket:
        await flood(socket.ping)
        assert await closing(socket) == 1008


async def refused(connecting: Any) -> dict[str, Any]:
    with pytest.raises(InvalidStatus) as answer:
        await connecting
    response = answer.value.response
    assert response.headers["Content-Type"] == "application/problem+json"
    problem: dict[str, Any] = msgspec.json.decode(response.body)
    assert problem["status"] == response.status_code
    return problem


async def test_socket_requires_permission_and_valid_parameters(served: Served) -> None:
    ann = served.sign_in("ann", "player")
    program = served.program("ann", "player", ["play"])
    assert (await refused(served.follow("")))["code"] == "door/sign-in"
    assert (await refused(served.follow("guessed")))["code"] == "door/sign-in"
    assert (await refused(served.follow("td_guessed")))["code"] == "door/sign-in"
    assert (await refused(served.follow(program)))["code"] == "door/scope"
    boss = served.sign_in("root", "administrator")
    assert (await refused(served.follow(boss)))["code"] == "door/role"
    assert (await refused(served.follow(ann, table="nowhere")))["status"] == 404
    for wrong in ("?after=x", "?after=-1", "?after=1&after=2", "?before=1", "?after=" + "9" * 30):
        assert (await refused(served.follow(ann, wrong)))["status"] == 422


async def test_cross_site_socket_is_refused(served: Served) -> None:
    ann = served.sign_in("ann", "player")
    foreign = await refused(served.follow(ann, origin="https://evil.example"))
    assert (foreign["status"], foreign["code"]) == (403, "door/origin")
    assert (await refused(served.follow(ann, origin=None)))["code"] == "door/origin"
    across = {"Sec-Fetch-Site": "cross-site"}
    assert (await refused(served.follow(ann, additional_headers=across)))["code"] == "door/origin"


async def test_locked_session_cannot_open_a_socket(served: Served) -> None:
    token = served.sign_in("dora", "dealer")
    served.context.identity.sessions.lock(token)
    assert (await refused(served.follow(token)))["code"] == "door/locked"


async def test_sockets_per_account_are_limited(served: Served) -> None:
    token = served.program("ann", "player")
    async with AsyncExitStack() as open_ones:
        for _ in range(MAX_SOCKETS_PER_ACCOUNT):
            await open_ones.enter_async_context(served.follow(token))
        assert (await refused(served.follow(token)))["code"] == "door/rate"
    async with served.follow(token) as socket:
        await hear(socket)


async def test_rate_of_opening_sockets_is_limited(served: Served) -> None:
    token = served.program("ann", "player")
    served.hub.open_limiter = RateLimiter(1, clock=lambda: 0.0)
    for _ in range(2):
        async with served.follow(token) as socket:
            await hear(socket)
    assert (await refused(served.follow(token)))["status"] == 429


# --- whose right ends ---------------------------------------------------------------------------


async def test_sign_out_closes_only_the_sockets_of_its_session(served: Served) -> None:
    first, second = served.sign_in("ann", "player"), served.sign_in("ann", "player")
    async with served.follow(first) as ended, served.follow(second) as goes_on:
        await hear(ended)
        await hear(goes_on)
        served.context.identity.sessions.sign_out(first)
        assert await closing(ended) == 4401
        await goes_on.send('{"type":"ping"}')
        assert (await hear(goes_on))["type"] == "pong"


async def test_locking_a_session_closes_its_socket(served: Served) -> None:
    token = served.sign_in("dora", "dealer")
    async with served.follow(token) as socket:
        await hear(socket)
        served.context.identity.sessions.lock(token)
        assert await closing(socket) == 4423


async def test_rotated_session_token_requires_a_new_socket(served: Served) -> None:
    token = served.sign_in("ann", "player")
    async with served.follow(token) as socket:
        await hear(socket)
        changed = served.context.identity.authentication.change_password(
            token, PASSWORD, "another long one"
        )
        assert await closing(socket) == 4403
    async with served.follow(changed.token) as socket:
        await hear(socket)


async def test_revocation_by_another_server_closes_sockets(served: Served) -> None:
    program, session = served.program("ann", "player"), served.sign_in("sue", "supervisor")
    house = served.context.house
    other = open_identity(house.url, state=house.state_dir, cost=TEST_COST)
    async with served.follow(program) as first, served.follow(session) as second:
        await hear(first)
        await hear(second)
        await asyncio.to_thread(other.accounts.disable, served.account("ann", "player").id)
        assert await closing(first) == 4401
        (post,) = other.assignments.current(account=served.account("sue", "supervisor").id)
        await asyncio.to_thread(other.assignments.end, post.id)
        assert await closing(second) == 4403
    other.close()


async def test_expired_session_closes_its_socket(served: Served) -> None:
    """Nobody is told when somebody is idle for too long, so it is asked about."""
    token, player = served.sign_in("dora", "dealer"), served.sign_in("ann", "player")
    async with served.follow(token) as staffs, served.follow(player) as players:
        await hear(staffs)
        await hear(players)
        records = served.context.identity.context
        clock, records.clock = records.clock, lambda: clock() + 20 * 3600 * 1_000_000
        try:
            assert await closing(staffs) == 4401
            assert await closing(players) == 4401
        finally:
            records.clock = clock
