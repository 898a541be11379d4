"""Checks before any rule of a game applies: host, origin, body, rate, client address."""

from __future__ import annotations

import asyncio
import json
from itertools import product
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from tests.api.house_app import BET, ORIGIN, open_house_app, problem_code, seat_players
from tests.api.test_authorisation import PAGES, routes
from tests.identity.identity_cluster import HERE, PASSWORD, THERE
from threedice.api.auth.authentication import check_request
from threedice.api.http import requests
from threedice.api.http.problems import ClientDisconnected, HttpProblem
from threedice.api.http.requests import MAX_BODY_BYTES, HouseRequest, read_body
from threedice.api.routes.house import require_local_or_permission

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.api.house_app import HouseApp

pytestmark = pytest.mark.anyio


# --- origin and host ----------------------------------------------------------------------------


CROSS_SITE_HEADERS: list[dict[str, str]] = [
    {"Origin": "https://elsewhere.test"},
    {"Origin": "null"},
    {"Origin": "http://house.test:8080"},
    {"Origin": "http://house.test.elsewhere.test"},
    {"Origin": ORIGIN, "Sec-Fetch-Site": "cross-site"},
    {"Origin": ORIGIN, "Sec-Fetch-Site": "same-site"},
    {"Origin": ORIGIN, "Sec-Fetch-Site": "none"},
    {"Origin": "", "Sec-Fetch-Site": "same-origin"},
]


async def test_cross_site_requests_are_refused(house_in_play: HouseApp) -> None:
    before = house_in_play.store.head("table/1")
    bet = {**BET, "player": house_in_play.id("player")}
    for headers in CROSS_SITE_HEADERS:
        client = house_in_play.client("player", **headers)
        response = await client.post(
            "/api/tables/1/commands", json=bet, headers={"Idempotency-Key": "k"}
        )
        assert (response.status_code, problem_code(response)) == (403, "door/origin")
        for method, path, _ in routes(house_in_play.app):
            if method != "GET":
                response = await client.request(method, path.replace("{", "").replace("}", ""))
                assert problem_code(response) == "door/origin", path
    assert house_in_play.store.head("table/1") == before


async def test_cookie_without_an_origin_is_refused_for_writes(
    house_in_play: HouseApp,
) -> None:
    client = house_in_play.client("player")
    del client.headers["Origin"]
    assert problem_code(await client.post("/api/session/lock")) == "door/origin"
    assert (await client.get("/api/session")).status_code == 200
    same_origin = await client.post("/api/session/lock", headers={"Sec-Fetch-Site": "same-origin"})
    assert same_origin.status_code == 204


async def test_api_token_needs_no_origin(house_in_play: HouseApp) -> None:
    made = house_in_play.identity.tokens.create(house_in_play.id("player"), "bot", ["play"])
    client = house_in_play.client(Authorization=f"Bearer {made.token}")
    del client.headers["Origin"]
    bet = {**BET, "player": house_in_play.id("player")}
    response = await client.post(
        "/api/tables/1/commands", json=bet, headers={"Idempotency-Key": "k"}
    )
    assert response.status_code == 200, response.text


async def test_responses_carry_no_cors_headers(house: HouseApp) -> None:
    client = house.client("player", Origin="https://elsewhere.test")
    for method in ("GET", "OPTIONS"):
        response = await client.request(method, "/api/tables")
        assert not [name for name in response.headers if name.startswith("access-control")]


async def test_request_for_a_foreign_host_is_refused(house: HouseApp) -> None:
    client = house.client("player", Host="rebound.test")
    response = await client.get("/api/session")
    assert (response.status_code, problem_code(response)) == (421, "door/host")
    assert (await client.get("/health")).status_code == 200


async def test_request_with_two_host_headers_is_refused(house_in_play: HouseApp) -> None:
    hosts = [("Host", "house.test"), ("Host", "elsewhere.test")]
    for each in (hosts, hosts[::-1], [hosts[0]] * 2):
        request = httpx.Request("GET", f"{ORIGIN}/api/house", headers=each)
        response = await house_in_play.client().send(request)
        assert (response.status_code, problem_code(response)) == (400, "door/malformed")
        assert "JSON" not in response.json()["detail"]


# --- body, headers and path ---------------------------------------------------------------------


INVALID_COMMANDS = [
    (b"", 400),
    (b"{", 400),
    (b"{}", 422),
    (b"[]", 422),
    (b"null", 422),
    (b"\xff\xfe", 400),
    (b'{"type":"PlaceBet"}', 422),
    (b'{"type":["PlaceBet"]}', 422),
    (b'{"type":"Nothing"}', 422),
    (b'{"type":"PlaceBet","player":"\xed\xa0\x80","box":"big","amount":5}', 400),
    (b'{"type":"PlaceBet","player":"ID","box":"big","amount":5,"more":1}', 422),
    (b'{"type":"PlaceBet","player":"ID","box":"big","amount":5.5}', 422),
    (b'{"type":"PlaceBet","player":"ID","box":"big","amount":"5"}', 422),
    (b'{"type":"PlaceBet","player":"ID","box":"big","amount":true}', 422),
    (b'{"type":"PlaceBet","player":"ID","box":"big","amount":1e400}', 422),
    (b'{"type":"PlaceBet","player":"ID","box":"big","amount":' + b"9" * 5000 + b"}", 422),
    (b'{"type":"PlaceBet","player":"ID","box":null,"amount":5}', 422),
    (b'{"type":"PlaceBet","player":"ID","box":"big","amount":5}{}', 400),
    (b'{"type":' + b"[" * 50_000, 400),
    (b"[" * 60_000, 422),
]


async def test_body_that_is_not_a_valid_command_is_refused(house_in_play: HouseApp) -> None:
    for who, (body, status) in product(("player", "dealer"), INVALID_COMMANDS):
        response = await house_in_play.client(who).post(
            "/api/tables/1/commands",
            content=body.replace(b"ID", house_in_play.id("player").encode()),
            headers={"Idempotency-Key": "k", "Content-Type": "application/json"},
        )
        assert response.status_code == status, (body[:80], response.text)
        assert response.headers["content-type"] == "application/problem+json"
        assert response.json()["code"] in ("door/form", "door/malformed")


async def test_body_over_64_kib_is_refused(house_in_play: HouseApp) -> None:
    headers = {"Idempotency-Key": "k", "Content-Type": "application/json"}
    client = house_in_play.client("player")
    bet = json.dumps({**BET, "player": house_in_play.id("player")}).encode()
    just = await client.post(
        "/api/tables/1/commands", content=bet.ljust(MAX_BODY_BYTES), headers=headers
    )
    assert just.status_code == 200

    async def slow_body() -> AsyncIterator[bytes]:
        for _ in range(MAX_BODY_BYTES // 1024 + 1):
            yield b" " * 1024

    for path in ("/api/tables/1/commands", "/api/session"):
        for content in (b" " * (MAX_BODY_BYTES + 1), slow_body()):
            response = await client.post(path, content=content, headers=headers)
            assert (response.status_code, problem_code(response)) == (413, "door/too-large")


async def test_declared_length_over_the_limit_is_refused_before_reading() -> None:
    async def receive() -> Any:
        pytest.fail("the body was read")

    with pytest.raises(HttpProblem, match="at most"):
        await read_body(receive, {b"content-length": b"65537"})


async def test_disconnect_while_reading_a_body_is_detected() -> None:
    messages: list[Any] = [
        {"type": "http.request", "body": b"{", "more_body": True},
        {"type": "http.disconnect"},
    ]

    async def receive() -> Any:
        return messages.pop(0)

    with pytest.raises(ClientDisconnected):
        await read_body(receive, {})
    messages = [{"type": "http.disconnect"}]
    with pytest.raises(ClientDisconnected):
        await read_body(receive, {})


async def test_body_of_another_media_type_is_refused(house_in_play: HouseApp) -> None:
    kinds = ("text/plain", "application/x-www-form-urlencoded", "", "multipart/form-data")
    for kind, path in product(kinds, ("/api/tables/1/commands", "/api/session")):
        response = await house_in_play.client("player").post(
            path, content=b"{}", headers={"Idempotency-Key": "k", "Content-Type": kind}
        )
        assert (response.status_code, problem_code(response)) == (415, "door/media-type")


async def test_command_without_a_valid_idempotency_key_is_refused(house_in_play: HouseApp) -> None:
    bet = {**BET, "player": house_in_play.id("player")}
    for key in ("", " ", "a b", "a/b", "é", "x" * 101, '"', "a\tb"):
        headers = {b"Idempotency-Key": key.encode()} if key else {}
        response = await house_in_play.client("player").post(
            "/api/tables/1/commands", json=bet, headers=headers
        )
        assert (response.status_code, problem_code(response)) == (400, "door/key")


QUERIES = [
    ("most=5", 200),
    ("", 200),
    ("most=0", 422),
    ("most=1001", 422),
    ("most=x", 422),
    ("most=1&most=2", 422),
    ("more=1", 422),
    ("most", 422),
    ("most=" + "1" * 3000, 422),
    ("most=%FF", 422),
]


async def test_query_parameters_are_validated(house_in_play: HouseApp) -> None:
    for query, status in QUERIES:
        response = await house_in_play.client("player").get(f"/api/tables/1/results?{query}")
        assert response.status_code == status, response.text


UNKNOWN_PATHS = [
    "/api/tables/nothing",
    "/api/tables/..%2F..%2Fetc",
    "/api/tables/" + "x" * 101,
    "/api/tables/%00",
    "/api/tables/1/rounds/0",
    "/api/tables/1/rounds/x",
    "/api/tables/1/rounds/99999999999999999999",
    "/api/rulebooks/house.toml/a",
    "/api/rulebooks/no-such-book/a",
    "/api/rulebooks/sg-rws-tai-sai-v6/z",
    "/api/nothing",
    "/api",
    "/api/tables/1/commands/more",
]


async def test_unknown_path_returns_a_404_problem(house_in_play: HouseApp) -> None:
    for path in UNKNOWN_PATHS:
        response = await house_in_play.client("pit-manager").get(path)
        assert response.status_code == 404, (path, response.text)
        assert response.headers["content-type"] == "application/problem+json"


async def test_browser_at_an_unknown_address_gets_the_page(house: HouseApp) -> None:
    client = house.client("player")
    for accept, path, media_type in (
        ("text/html,*/*;q=0.8", "/nowhere", "text/html; charset=utf-8"),
        ("*/*", "/nowhere", "application/problem+json"),
        ("text/html", "/api/nowhere", "application/problem+json"),
        ("text/html", "/assets/nothing.js", "application/problem+json"),
    ):
        response = await client.get(path, headers={"Accept": accept})
        assert response.status_code == 404
        assert response.headers["content-type"] == media_type


async def test_requests_for_unknown_tables_load_no_stream(house_in_play: HouseApp) -> None:
    client = house_in_play.client("pit-manager")
    for path in ("", "/results", "/exposure", "/room", "/sheet", "/game", "/shift", "/rounds/1"):
        assert (await client.get(f"/api/tables/guess{path}")).status_code == 404
    response = await house_in_play.send("pit-manager", {"type": "OpenBetting"}, table="guess")
    assert response.status_code == 404
    assert house_in_play.handler.streams.loaded.get("table/guess") is None


async def test_unsupported_method_is_refused_with_an_allow_header(house: HouseApp) -> None:
    response = await house.client("player").delete("/api/tables")
    assert (response.status_code, problem_code(response)) == (405, "door/method")
    assert "GET" in response.headers["allow"]


# --- rate limits and timeouts -------------------------------------------------------------------


async def test_command_rate_is_limited_per_account() -> None:
    async with open_house_app(commands_per_second=3) as house:
        await seat_players(house)
        codes = [problem_code(await house.bet("player")) for _ in range(8)]
        assert codes[:6] == [""] * 6
        assert "door/rate" in codes[6:]
        refused = [await house.bet("player") for _ in range(6)][-1]
        assert refused.status_code == 429
        assert int(refused.headers["retry-after"]) >= 1
        assert (await house.bet("other player")).status_code == 200


async def test_repeated_sign_in_failures_are_throttled() -> None:
    async with open_house_app() as house:
        client = house.client()
        credentials = {"name": "player-name", "password": "not this one at all"}
        attempts = [await client.post("/api/session", json=credentials) for _ in range(7)]
        assert {each.status_code for each in attempts[:5]} == {401}
        assert (attempts[-1].status_code, problem_code(attempts[-1])) == (429, "sign-in/wait")
        assert int(attempts[-1].headers["retry-after"]) >= 1
        right = {"name": "player-name", "password": PASSWORD}
        assert problem_code(await client.post("/api/session", json=right)) == "sign-in/wait"


async def test_body_that_does_not_arrive_in_time_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(requests, "BODY_TIMEOUT_SECONDS", 0.0)
    first: list[Any] = [{"type": "http.request", "body": b"{", "more_body": True}]

    async def receive() -> Any:
        return first.pop() if first else await asyncio.Event().wait()

    with pytest.raises(HttpProblem, match="did not arrive in time"):
        await read_body(receive, {})


@pytest.mark.parametrize(
    ("behind_proxy", "forwarded", "address"),
    [
        (False, f"{THERE}", HERE),
        (True, f"{THERE}", THERE),
        (True, f"127.0.0.1, {THERE}", THERE),
        (True, "", HERE),
    ],
)
async def test_client_address_comes_from_a_trusted_proxy_only(
    house: HouseApp, behind_proxy: bool, forwarded: str, address: str
) -> None:
    house.context.behind_proxy = behind_proxy
    headers = [(b"x-forwarded-for", forwarded.encode())] if forwarded else []
    scope: Any = {"client": (HERE, 1), "headers": headers, "litestar_app": house.app, "state": {}}
    assert HouseRequest(scope).client_address == address


# --- coverage of all routes ---------------------------------------------------------------------


async def test_every_api_route_runs_the_request_check(house: HouseApp) -> None:
    for route in house.app.routes:
        for handler in getattr(route, "route_handlers", []):
            if "OPTIONS" not in handler.http_methods and handler.name not in PAGES:
                metrics = handler.name == "read-metrics"
                expected = require_local_or_permission if metrics else check_request
                assert handler.resolve_before_request() is expected
