"""Live sockets: views and events, resuming, permissions, limits, and revocation."""

from __future__ import annotations

import asyncio
import random
import time
from contextlib import AsyncExitStack, suppress
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.api.live_server import receive, receive_until, serve_house, wait_for_close
from tests.identity.identity_cluster import PASSWORD
from threedice.api.http.limits import RateLimiter
from threedice.api.live import hub
from threedice.api.live.hub import MAX_SOCKETS_PER_ACCOUNT
from threedice.house.stream_state import table_stream
from threedice.identity import open_identity
from threedice.identity.authentication.passwords import TEST_COST
from threedice.log.entry import NewEntry, extend_stream
from threedice.log.records import Append, Proposal

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from tests.api.live_server import LiveServer

pytestmark = pytest.mark.anyio


# --- views and events ---------------------------------------------------------------------------


async def test_player_receives_the_table_view_and_then_its_events(server: LiveServer) -> None:
    ids = await server.seat(ann=1000, bob=1000)
    ann = server.sign_in("ann", "player")
    async with server.follow(ann) as socket:
        hello = await receive(socket)
        assert hello["type"] == "hello"
        assert hello["protocol"] == 1
        assert abs(hello["server_time"] - time.time_ns() // 1000) < 60_000_000
        assert hello["version"] == hello["view"]["version"] == await server.head()
        assert list(hello["view"]["seats"]) == [ids["ann"]]
        await server.play("open betting")
        await server.bet(ids["bob"], 50, "big")
        await server.bet(ids["ann"], 25, "small")
        events = await receive_until(socket, await server.head())
    assert [each["version"] for each in events] == [
        hello["version"] + number for number in range(1, len(events) + 1)
    ]
    bobs, anns = events[-2:]
    assert bobs["event"] is None
    assert bobs["totals"] == {"big": 50}
    assert anns["event"]["amount"] == 25
    assert ids["bob"] not in str(events)


async def test_staff_see_all_seats_only_at_assigned_tables(server: LiveServer) -> None:
    ids = await server.seat(ann=1000)
    here = server.sign_in("dora", "dealer")
    async with server.follow(here) as socket:
        hello = await receive(socket)
        assert hello["audience"] == "staff"
        assert set(hello["view"]["seats"]) == {"nobody", ids["ann"]}
        await server.play("open betting")
        await server.bet(ids["ann"], 50, "big")
        events = await receive_until(socket, await server.head())
        assert events[-1]["event"]["player"] == ids["ann"]
    people = server.context.identity
    (post,) = people.assignments.current(account=server.account("dora", "dealer").id)
    people.assignments.end(post.id)
    async with server.follow(here) as socket:
        hello = await receive(socket)
        assert (hello["audience"], hello["player"], hello["view"]["seats"]) == ("player", "", {})


async def test_reconnecting_client_receives_exactly_the_missed_events(server: LiveServer) -> None:
    ids = await server.seat(ann=1000)
    token = server.sign_in("ann", "player")
    async with server.follow(token) as socket:
        version = (await receive(socket))["version"]
    await server.play("open betting")
    await place_bets(server, ids["ann"], 10)
    async with server.follow(token, f"?after={version + 3}") as socket:
        hello = await receive(socket)
        assert (hello["version"], hello["view"]) == (version + 3, None)
        await server.bet(ids["ann"], 10, "small")
        last = await server.head()
        events = await receive_until(socket, last)
    assert [each["version"] for each in events] == list(range(version + 4, last + 1))


async def test_client_resuming_from_version_zero_receives_the_whole_stream(
    server: LiveServer,
) -> None:
    ids = await server.seat(ann=100_000)
    await server.play("open betting")
    await asyncio.gather(*(server.bet(ids["ann"], 5, "big") for _ in range(700)))
    last = await server.head()
    async with server.follow(server.sign_in("sue", "supervisor"), "?after=0") as socket:
        assert (await receive(socket))["version"] == 0
        events = await receive_until(socket, last)
    assert [each["version"] for each in events] == list(range(1, last + 1))
    stored = server.store.scan(table_stream(server.table))
    assert [each["event"] for each in events] == [msgspec.json.decode(each.data) for each in stored]


async def test_client_resuming_from_a_future_version_receives_the_current_view(
    server: LiveServer,
) -> None:
    token = server.create_token("ann", "player")
    async with server.follow(token, "?after=999999") as socket:
        hello = await receive(socket)
    assert hello["version"] == hello["view"]["version"] == await server.head()


async def test_repeated_reconnects_deliver_every_event_exactly_once(
    server: LiveServer,
) -> None:
    ids = await server.seat(ann=1_000_000)
    await server.play("open betting")
    token, start = server.create_token("ann", "player"), await server.head()
    seen, chance = list[int](), random.Random(5)
    done = asyncio.create_task(place_bets(server, ids["ann"], 600))
    while not done.done() or len(seen) < 600:
        after = seen[-1] if seen else start
        async with server.follow(token, f"?after={after}") as socket:
            assert (await receive(socket))["version"] == after
            for _ in range(chance.randint(0, 4)):
                if seen and seen[-1] - start == 600:
                    break
                seen += [each["version"] for each in (await receive(socket))["events"]]
    await done
    assert seen == list(range(start + 1, start + 601))


async def place_bets(server: LiveServer, player: str, count: int) -> None:
    for start in range(0, count, 20):
        bets = (server.bet(player, 5, "big") for _ in range(start, min(start + 20, count)))
        await asyncio.gather(*bets)


async def test_suspension_and_release_are_broadcast(server: LiveServer) -> None:
    async with server.follow(server.create_token("ann", "player")) as socket:
        await receive(socket)
        server.handler.streams.writer.suspend("the disk is full")
        assert await receive(socket) == {"type": "standing", "suspended": True}
        server.handler.streams.writer.halt_reason = ""
        assert await receive(socket) == {"type": "standing", "suspended": False}


async def test_stopping_server_closes_sockets_with_going_away(tmp_path: Path) -> None:
    async with serve_house(tmp_path) as server:
        socket = await server.follow(server.create_token("ann", "player"))
        await receive(socket)
    assert await wait_for_close(socket) == 1001


async def test_corrupt_stream_closes_only_the_sockets_of_its_table(
    server: LiveServer, shared_server: LiveServer
) -> None:
    other = await shared_server.open_new_table()
    async with (
        server.follow(server.create_token("ann", "player")) as here,
        other.follow(other.create_token("ann", "player")) as there,
    ):
        await receive(here)
        await receive(there)
        await asyncio.to_thread(append_unknown_event, server)
        server.context.house.feed.poll_now()
        assert await wait_for_close(here) == 1011
        await other.play("open betting")
        await receive_until(there, await other.head())


def append_unknown_event(server: LiveServer) -> None:
    """Append an event of an unknown kind to the stream of the table."""
    store, stream = server.store, table_stream(server.table)
    head = store.head(stream)
    entries, _ = extend_stream(head, stream, 1, b"", [NewEntry("Nonsense", 1, b"{}")])
    append = Append(stream, head, tuple(entries))
    store.write([Proposal("console", f"nonsense {server.table}", b"\0" * 32, (append,))])


# --- refused messages and connections -----------------------------------------------------------


async def test_ping_is_answered_with_its_echo(server: LiveServer) -> None:
    async with server.follow(server.create_token("ann", "player")) as socket:
        await receive(socket)
        await socket.send('{"type":"ping","echo":"7"}')
        pong = await receive(socket)
    assert (pong["type"], pong["echo"]) == ("pong", "7")


async def test_command_over_a_socket_is_refused_and_repetition_closes_it(
    server: LiveServer,
) -> None:
    ids = await server.seat(ann=1000)
    await server.play("open betting")
    before = await server.head()
    bet = f'{{"type":"PlaceBet","player":"{ids["ann"]}","box":"big","amount":5}}'
    async with server.follow(server.sign_in("ann", "player")) as socket:
        await receive(socket)
        await socket.send(bet)
        refusal = await receive(socket)
        assert (refusal["type"], refusal["code"]) == ("refused", "live/not-a-ping")
        for _ in range(4):
            await socket.send(bet)
        assert await wait_for_close(socket) == 1008
    assert await server.head() == before


@pytest.mark.parametrize(
    ("message", "code"),
    [("x" * 2000, 1009), ("x" * 100_000, 1009), (b"\xff" * 2000, 1009)],
)
async def test_a_long_message_closes_the_socket(
    server: LiveServer, message: str | bytes, code: int
) -> None:
    async with server.follow(server.create_token("ann", "player")) as socket:
        await receive(socket)
        await socket.send(message)
        assert await wait_for_close(socket) == code


async def test_a_flood_of_messages_closes_the_socket(server: LiveServer) -> None:
    async with server.follow(server.create_token("ann", "player")) as socket:
        await flood(lambda: socket.send('{"type":"ping"}'))
        assert await wait_for_close(socket) == 1008


async def flood(action: Callable[[], Awaitable[Any]]) -> None:
    """Repeat an action until the socket is closed."""
    with suppress(ConnectionClosed):
        for _ in range(1000):
            await action()
            await asyncio.sleep(0)


async def test_a_flood_of_ping_frames_closes_the_socket(server: LiveServer) -> None:
    async with server.follow(server.create_token("ann", "player"), ping_interval=None) as socket:
        await flood(socket.ping)
        assert await wait_for_close(socket) == 1008


async def expect_refusal(connecting: Any) -> dict[str, Any]:
    with pytest.raises(InvalidStatus) as answer:
        await connecting
    response = answer.value.response
    assert response.headers["Content-Type"] == "application/problem+json"
    problem: dict[str, Any] = msgspec.json.decode(response.body)
    assert problem["status"] == response.status_code
    return problem


async def test_socket_requires_permission_and_valid_parameters(server: LiveServer) -> None:
    ann = server.sign_in("ann", "player")
    program = server.create_token("ann", "player", ["play"])
    assert (await expect_refusal(server.follow("")))["code"] == "door/sign-in"
    assert (await expect_refusal(server.follow("guessed")))["code"] == "door/sign-in"
    assert (await expect_refusal(server.follow("td_guessed")))["code"] == "door/sign-in"
    assert (await expect_refusal(server.follow(program)))["code"] == "door/scope"
    boss = server.sign_in("root", "administrator")
    assert (await expect_refusal(server.follow(boss)))["code"] == "door/role"
    assert (await expect_refusal(server.follow(ann, table="nowhere")))["status"] == 404
    for wrong in ("?after=x", "?after=-1", "?after=1&after=2", "?before=1", "?after=" + "9" * 30):
        assert (await expect_refusal(server.follow(ann, wrong)))["status"] == 422


async def test_cross_site_socket_is_refused(server: LiveServer) -> None:
    ann = server.sign_in("ann", "player")
    foreign = await expect_refusal(server.follow(ann, origin="https://evil.example"))
    assert (foreign["status"], foreign["code"]) == (403, "door/origin")
    assert (await expect_refusal(server.follow(ann, origin=None)))["code"] == "door/origin"
    across = {"Sec-Fetch-Site": "cross-site"}
    assert (await expect_refusal(server.follow(ann, additional_headers=across)))[
        "code"
    ] == "door/origin"


async def test_locked_session_cannot_open_a_socket(server: LiveServer) -> None:
    token = server.sign_in("dora", "dealer")
    server.context.identity.sessions.lock(token)
    assert (await expect_refusal(server.follow(token)))["code"] == "door/locked"


async def test_sockets_per_account_are_limited(server: LiveServer) -> None:
    token = server.create_token("ann", "player")
    async with AsyncExitStack() as open_ones:
        for _ in range(MAX_SOCKETS_PER_ACCOUNT):
            await open_ones.enter_async_context(server.follow(token))
        assert (await expect_refusal(server.follow(token)))["code"] == "door/rate"
    async with server.follow(token) as socket:
        await receive(socket)


async def test_rate_of_opening_sockets_is_limited(server: LiveServer) -> None:
    token = server.create_token("ann", "player")
    server.hub.open_limiter = RateLimiter(1, clock=lambda: 0.0)
    for _ in range(2):
        async with server.follow(token) as socket:
            await receive(socket)
    assert (await expect_refusal(server.follow(token)))["status"] == 429


# --- revocation ---------------------------------------------------------------------------------


async def test_sign_out_closes_only_the_sockets_of_its_session(server: LiveServer) -> None:
    first, second = server.sign_in("ann", "player"), server.sign_in("ann", "player")
    async with server.follow(first) as ended, server.follow(second) as goes_on:
        await receive(ended)
        await receive(goes_on)
        server.context.identity.sessions.sign_out(first)
        assert await wait_for_close(ended) == 4401
        await goes_on.send('{"type":"ping"}')
        assert (await receive(goes_on))["type"] == "pong"


async def test_revoking_a_display_closes_its_socket_only(server: LiveServer) -> None:
    displays = server.context.identity.displays
    kept, revoked = (displays.add(server.table, wall) for wall in ("north", "south"))
    async with (
        server.follow(kept.token) as other,
        server.follow(revoked.token) as socket,
    ):
        hello = [await receive(each) for each in (other, socket)]
        assert hello[0]["view"] == hello[1]["view"]
        displays.revoke(revoked.display.id)
        assert await wait_for_close(socket) == 4401
        await server.play("open betting")
        await receive(other)
    assert (await expect_refusal(server.follow(revoked.token)))["code"] == "door/sign-in"
    elsewhere = await expect_refusal(server.follow(kept.token, table="nowhere"))
    assert (elsewhere["status"], elsewhere["code"]) == (403, "door/role")


async def test_locking_a_session_closes_its_socket(server: LiveServer) -> None:
    token = server.sign_in("dora", "dealer")
    async with server.follow(token) as socket:
        await receive(socket)
        server.context.identity.sessions.lock(token)
        assert await wait_for_close(socket) == 4423


async def test_rotated_session_token_requires_a_new_socket(server: LiveServer) -> None:
    token = server.sign_in("ann", "player")
    async with server.follow(token) as socket:
        await receive(socket)
        changed = server.context.identity.authentication.change_password(
            token, PASSWORD, "another long one"
        )
        assert await wait_for_close(socket) == 4403
    async with server.follow(changed.token) as socket:
        await receive(socket)


async def test_revocation_by_another_server_closes_sockets(server: LiveServer) -> None:
    program, session = server.create_token("ann", "player"), server.sign_in("sue", "supervisor")
    house = server.context.house
    other = open_identity(house.url, state=house.state_dir, cost=TEST_COST)
    async with server.follow(program) as first, server.follow(session) as second:
        await receive(first)
        await receive(second)
        await asyncio.to_thread(other.accounts.disable, server.account("ann", "player").id)
        assert await wait_for_close(first) == 4401
        (post,) = other.assignments.current(account=server.account("sue", "supervisor").id)
        await asyncio.to_thread(other.assignments.end, post.id)
        assert await wait_for_close(second) == 4403
    other.close()


async def test_expired_session_closes_its_socket(
    server: LiveServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Idle time ends a session without a notification, so the server polls."""
    monkeypatch.setattr(hub, "ROUNDS_PER_PLAYER_CHECK", 1)
    token, player = server.sign_in("dora", "dealer"), server.sign_in("ann", "player")
    async with server.follow(token) as staffs, server.follow(player) as players:
        await receive(staffs)
        await receive(players)
        records = server.context.identity.context
        clock, records.clock = records.clock, lambda: clock() + 20 * 3600 * 1_000_000
        try:
            assert await wait_for_close(staffs) == 4401
            assert await wait_for_close(players) == 4401
        finally:
            records.clock = clock
