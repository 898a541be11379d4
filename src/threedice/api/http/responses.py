"""HTTP responses, problem responses and security headers.

Replies, and the headers that every one of them carries.

Handshakes of sockets that are refused: with the same problems as requests are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from threedice.api.http import journal
from threedice.api.http.problems import problem_from_error, retry_after_seconds
from threedice.api.texts import preferred_language
from threedice.errors import ThreediceError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from litestar.types import Message, Scope, Send

    from threedice.api.context import ServerContext


HeaderList = list[tuple[bytes, bytes]]


JSON_MEDIA_TYPE: Final = b"application/json"


PROBLEM_MEDIA_TYPE: Final = b"application/problem+json"


_ENCODER: Final = msgspec.json.Encoder()


API_CONTENT_POLICY: Final = (
    b"default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)


SCREEN_CONTENT_POLICY: Final = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    b"font-src 'self'; connect-src 'self'; manifest-src 'self'; "
    b"frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
)
"""Screens use what this server serves and nothing else; no script stands in a page."""


SECURITY_HEADERS: Final[HeaderList] = [
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
]


HSTS_HEADER: Final = (b"strict-transport-security", b"max-age=31536000; includeSubDomains")


class HttpResponse(NamedTuple):
    """What is sent back."""

    status: int
    body: bytes
    media_type: bytes = JSON_MEDIA_TYPE
    headers: HeaderList = []


def json_response(
    payload: Any, status: int = 200, headers: HeaderList | None = None
) -> HttpResponse:
    """Return an answer as JSON; one that says nothing has no body."""
    if status == 204:
        return HttpResponse(204, b"", b"", headers or [])
    return HttpResponse(status, _ENCODER.encode(payload), JSON_MEDIA_TYPE, headers or [])


def problem_response(
    error: Exception, request_headers: Mapping[bytes, bytes], context: ServerContext
) -> HttpResponse:
    """Return what is told of something that went wrong, in the language that was asked for."""
    language = preferred_language(request_headers.get(b"accept-language", b""))
    problem = problem_from_error(error, language)
    context.metrics.count_refused(problem.code)
    if not isinstance(error, ThreediceError):
        journal.warn("defect", error)
    headers = [(b"content-language", language.encode()), (b"vary", b"accept-language")]
    if problem.status == 401:
        headers.append((b"www-authenticate", b'Bearer realm="threedice"'))
    if wait := retry_after_seconds(error):
        headers.append((b"retry-after", b"%d" % wait))
    return HttpResponse(problem.status, _ENCODER.encode(problem), PROBLEM_MEDIA_TYPE, headers)


def security_headers(context: ServerContext, path: str) -> HeaderList:
    """Return what every reply under an address carries."""
    api = path.startswith("/api") or path in ("/health", "/metrics")
    policy = (b"content-security-policy", API_CONTENT_POLICY if api else SCREEN_CONTENT_POLICY)
    tls = [HSTS_HEADER] if context.secure else []
    return [policy, *SECURITY_HEADERS, *tls, *([(b"cache-control", b"no-store")] if api else [])]


async def send_response(send: Send, response: HttpResponse, extra_headers: HeaderList) -> None:
    """Send a reply with the house's headers."""
    headers = [(b"content-length", b"%d" % len(response.body)), *response.headers, *extra_headers]
    if response.media_type:
        headers.append((b"content-type", response.media_type))
    start: Any = {"type": "http.response.start", "status": response.status, "headers": headers}
    await send(start)
    body: Any = {"type": "http.response.body", "body": response.body, "more_body": False}
    await send(body)


def add_headers(send: Send, extra_headers: HeaderList) -> Send:
    """Return a way to send that adds the house's headers to whatever has not said them itself."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            said = {name.lower() for name, _ in message["headers"]}
            ours = [each for each in extra_headers if each[0] not in said]
            message["headers"] = [*message["headers"], *ours]
        await send(message)

    return sending


def strip_body(send: Send) -> Send:
    """Return a way to send that leaves the body out, and says all the same how long it is."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.body":
            message["body"] = b""
        await send(message)

    return sending


async def reject_handshake(scope: Scope, send: Send, response: HttpResponse) -> None:
    """Answer a handshake with a problem, where the server can; otherwise just refuse it."""
    if "websocket.http.response" not in (scope.get("extensions") or {}):
        await send({"type": "websocket.close", "code": 1008, "reason": ""})
        return
    headers = [
        (b"content-type", response.media_type),
        (b"content-length", b"%d" % len(response.body)),
        (b"cache-control", b"no-store"),
        (b"content-security-policy", API_CONTENT_POLICY),
        *response.headers,
        *SECURITY_HEADERS,
    ]
    start: Any = {
        "type": "websocket.http.response.start",
        "status": response.status,
        "headers": headers,
    }
    end: Any = {"type": "websocket.http.response.body", "body": response.body}
    await send(start)
    await send(end)
