"""HTTP responses, problem responses, security headers and rejected WebSocket handshakes."""

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
    from threedice.api.texts import Language


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
"""Screens load from this server only, and no page contains inline scripts."""

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
    """A complete response: status, body, media type and its own headers."""

    status: int
    body: bytes
    media_type: bytes = JSON_MEDIA_TYPE
    headers: HeaderList = []


def json_response(
    payload: Any, status: int = 200, headers: HeaderList | None = None
) -> HttpResponse:
    """Return a JSON response; one with status 204 has no body."""
    if status == 204:
        return HttpResponse(204, b"", b"", headers or [])
    return HttpResponse(status, _ENCODER.encode(payload), JSON_MEDIA_TYPE, headers or [])


def problem_response(
    error: Exception, request_headers: Mapping[bytes, bytes], context: ServerContext
) -> HttpResponse:
    """Return an error as a problem response in the client's language; count and log it.

    This never raises: if an error cannot be described, the response is a bare 500 in English.
    """
    try:
        return _describe_error(error, request_headers, context)
    except Exception as failure:
        journal.warn("defect", failure)
        return _DEFECT_RESPONSE


def _describe_error(
    error: Exception, request_headers: Mapping[bytes, bytes], context: ServerContext
) -> HttpResponse:
    language = preferred_language(request_headers.get(b"accept-language", b""))
    problem = problem_from_error(error, language)
    context.metrics.count_refused(problem.code)
    if not isinstance(error, ThreediceError):
        journal.warn("defect", error)
    headers = _language_headers(language)
    if problem.status == 401:
        headers.append((b"www-authenticate", b'Bearer realm="threedice"'))
    if seconds := retry_after_seconds(error):
        headers.append((b"retry-after", b"%d" % seconds))
    return HttpResponse(problem.status, _ENCODER.encode(problem), PROBLEM_MEDIA_TYPE, headers)


def _language_headers(language: Language) -> HeaderList:
    return [(b"content-language", language.encode()), (b"vary", b"accept-language")]


_DEFECT_RESPONSE: Final = HttpResponse(
    500,
    _ENCODER.encode(problem_from_error(Exception())),
    PROBLEM_MEDIA_TYPE,
    _language_headers("en"),
)
"""Encoded in advance, so that it can be sent whatever fails."""


def security_headers(context: ServerContext, path: str) -> HeaderList:
    """Return the headers that every response under a path carries."""
    is_api = path.startswith("/api") or path in ("/health", "/metrics")
    policy = (b"content-security-policy", API_CONTENT_POLICY if is_api else SCREEN_CONTENT_POLICY)
    hsts = [HSTS_HEADER] if context.secure else []
    no_store = [(b"cache-control", b"no-store")] if is_api else []
    return [policy, *SECURITY_HEADERS, *hsts, *no_store]


async def send_response(send: Send, response: HttpResponse, extra_headers: HeaderList) -> None:
    """Send a response with extra headers."""
    headers = [(b"content-length", b"%d" % len(response.body)), *response.headers, *extra_headers]
    if response.media_type:
        headers.append((b"content-type", response.media_type))
    start: Any = {"type": "http.response.start", "status": response.status, "headers": headers}
    await send(start)
    body: Any = {"type": "http.response.body", "body": response.body, "more_body": False}
    await send(body)


def add_headers(send: Send, extra_headers: HeaderList) -> Send:
    """Wrap `send` so that it adds the headers that a response does not set itself."""

    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            present = {name.lower() for name, _ in message["headers"]}
            missing = [header for header in extra_headers if header[0] not in present]
            message["headers"] = [*message["headers"], *missing]
        await send(message)

    return send_with_headers


def strip_body(send: Send) -> Send:
    """Wrap `send` so that it omits the body but keeps its `Content-Length`."""

    async def send_without_body(message: Message) -> None:
        if message["type"] == "http.response.body":
            message["body"] = b""
        await send(message)

    return send_without_body


async def reject_handshake(scope: Scope, send: Send, response: HttpResponse) -> None:
    """Reject a WebSocket handshake with a problem response, or by closing if unsupported."""
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
