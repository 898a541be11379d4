"""Responses: security headers, language, and what errors must not reveal."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import pytest

from tests.api.house_app import BET, open_house_app, seat_players
from tests.identity.identity_cluster import PASSWORD
from threedice.api.context import PLAIN_COOKIE, SECURE_COOKIE
from threedice.api.http import journal
from threedice.api.http.problems import problem_from_error
from threedice.errors import ThreediceError

if TYPE_CHECKING:
    from tests.api.house_app import HouseApp

pytestmark = pytest.mark.anyio


async def test_every_response_has_the_security_headers(house_in_play: HouseApp) -> None:
    client = house_in_play.client("player")
    replies = [
        await client.get("/api/tables"),
        await client.get("/api/nothing"),
        await client.get("/nothing"),
        await client.delete("/api/tables"),
        await client.request("OPTIONS", "/api/tables"),
        await client.post("/api/tables/1/commands", content=b"{"),
        await client.get("/api/session", headers={"Host": "rebound.test"}),
        await house_in_play.client().get("/api/tables"),
        await client.get("/health"),
        await house_in_play.bet("player"),
    ]
    for reply in replies:
        headers = reply.headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        if reply.url.path.startswith("/api"):
            assert headers["cache-control"] == "no-store"
        assert "strict-transport-security" not in headers
        assert "server" not in headers


async def test_tls_responses_set_hsts_and_a_host_only_cookie() -> None:
    async with open_house_app(secure=True, origins=("https://house.test",)) as house:
        client = house.client(Origin="https://house.test")
        credentials = {"name": "player-name", "password": PASSWORD}
        reply = await client.post("https://house.test/api/session", json=credentials)
        assert "max-age" in reply.headers["strict-transport-security"]
        parts = {part.strip() for part in reply.headers["set-cookie"].split(";")}
        assert {"Path=/", "HttpOnly", "SameSite=Strict", "Secure"} <= parts
        assert reply.headers["set-cookie"].startswith(f"{SECURE_COOKIE}=")
        assert "Domain" not in reply.headers["set-cookie"]
        token = reply.headers["set-cookie"].partition("=")[2].partition(";")[0]
        for name, status in ((SECURE_COOKIE, 200), (PLAIN_COOKIE, 401)):
            other = house.client(Cookie=f"{name}={token}")
            answer = await other.get("https://house.test/api/session")
            assert answer.status_code == status


@pytest.mark.parametrize(
    ("accept_language", "language", "words"),
    [
        ("en", "en", "Betting is not open yet"),
        ("zh-TW,zh;q=0.5", "zh-Hant", "尚未開始下注"),
        ("zh-CN", "zh-Hans", "尚未开始下注"),
        ("fr, *", "en", "Betting is not open yet"),
        ("", "en", "Betting is not open yet"),
    ],
)
async def test_refusal_text_follows_accept_language(
    house: HouseApp, accept_language: str, language: str, words: str
) -> None:
    await seat_players(house, betting=False)
    bet = {**BET, "player": house.id("player")}
    response = await house.client("player").post(
        "/api/tables/1/commands",
        json=bet,
        headers={"Idempotency-Key": "k", "Accept-Language": accept_language},
    )
    problem = response.json()
    assert response.status_code == 409
    assert response.headers["content-language"] == language
    assert response.headers["vary"] == "accept-language"
    assert problem["detail"].startswith(words)
    assert (problem["code"], problem["status"]) == ("betting/not-open", 409)
    assert problem["clause"]
    assert problem["type"] == "/problems/betting/not-open"


async def test_defect_returns_a_bare_500_and_logs_no_message(
    house_in_play: HouseApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise RuntimeError("secret-in-a-message")

    lines = io.StringIO()
    handler = journal.open_journal(lines, plain=False)
    try:
        monkeypatch.setattr(house_in_play.handler, "handle", fail)
        monkeypatch.setattr(house_in_play.identity.accounts, "all", fail)
        bet = await house_in_play.bet("player")
        listed = await house_in_play.client("administrator").get("/api/people")
    finally:
        journal.close_journal(handler)
    for response in (bet, listed):
        assert response.status_code == 500
        assert response.json()["code"] == "house/defect"
        assert "secret" not in response.text
        assert "Traceback" not in response.text
        assert "RuntimeError" not in response.text
    assert "defect" in lines.getvalue()
    assert "secret-in-a-message" not in lines.getvalue()
    assert "Traceback" not in lines.getvalue()


@pytest.mark.parametrize("path", ["/api/nothing", "/api/tables/1/commands", "/nothing"])
async def test_failure_while_describing_an_error_is_a_500_with_security_headers(
    house_in_play: HouseApp, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(house_in_play.context.metrics, "count_refused", fail)
    reply = await house_in_play.client("player", Host="rebound.test").post(path, content=b"{")
    assert (reply.status_code, reply.json()["code"]) == (500, "house/defect")
    assert reply.headers["x-frame-options"] == "DENY"
    assert reply.headers["content-language"] == "en"


def test_unmapped_threedice_error_is_a_503_without_details() -> None:
    problem = problem_from_error(ThreediceError("inside"))
    assert (problem.status, problem.code) == (503, "house/damaged")
    assert "inside" not in problem.detail


@pytest.mark.parametrize("path", ["/", "/table/1", "/api/tables", "/health"])
async def test_head_returns_the_headers_of_get_without_a_body(
    house_in_play: HouseApp, path: str
) -> None:
    client = house_in_play.client("player")
    whole, head = await client.get(path), await client.head(path)
    assert (head.status_code, head.content) == (whole.status_code, b"")
    for name in ("content-type", "content-length", "cache-control"):
        assert head.headers.get(name) == whole.headers.get(name)


async def test_head_of_a_post_only_route_is_405(house_in_play: HouseApp) -> None:
    response = await house_in_play.client("player").head("/api/tables/1/commands")
    assert (response.status_code, response.content) == (405, b"")
    assert "HEAD" not in response.headers["allow"]
    response = await house_in_play.client("player").put("/api/tables")
    assert response.headers["allow"] == "GET, HEAD"
