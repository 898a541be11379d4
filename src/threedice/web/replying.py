"""Replies, and the headers that every one of them carries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from threedice.errors import ThreediceError
from threedice.web import journal
from threedice.web.problems import problem_of, wait_of
from threedice.web.texts import asked_language

if TYPE_CHECKING:
    from collections.abc import Mapping

    from litestar.types import Message, Send

    from threedice.web.context import Context

Headers = list[tuple[bytes, bytes]]

JSON: Final = b"application/json"
PROBLEM: Final = b"application/problem+json"

_ENCODER: Final = msgspec.json.Encoder()

API_POLICY: Final = (
    b"default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
PAGE_POLICY: Final = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    b"font-src 'self'; connect-src 'self'; manifest-src 'self'; "
    b"frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
)
"""Screens use what this server serves and nothing else; no script stands in a page."""

COMMON: Final[Headers] = [
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
]
ONLY_TLS: Final = (b"strict-transport-security", b"max-age=31536000; includeSubDomains")


class Reply(NamedTuple):
    """What is sent back."""

    status: int
    body: bytes
    kind: bytes = JSON
    headers: Headers = []


def reply_of(answer: Any, status: int = 200, headers: Headers | None = None) -> Reply:
    """Return an answer as JSON; one that says nothing has no body."""
    if status == 204:
        return Reply(204, b"", b"", headers or [])
    return Reply(status, _ENCODER.encode(answer), JSON, headers or [])


def reply_to(error: Exception, asked: Mapping[bytes, bytes], context: Context) -> Reply:
    """Return what is told of something that went wrong, in the language that was asked for."""
    language = asked_language(asked.get(b"accept-language", b""))
    problem = problem_of(error, language)
    context.metrics.refused(problem.code)
    if not isinstance(error, ThreediceError):
        journal.warn("defect", error)
    headers = [(b"content-language", language.encode()), (b"vary", b"accept-language")]
    if problem.status == 401:
        headers.append((b"www-authenticate", b'Bearer realm="threedice"'))
    if wait := wait_of(error):
        headers.append((b"retry-after", b"%d" % wait))
    return Reply(problem.status, _ENCODER.encode(problem), PROBLEM, headers)


def house_headers(context: Context, path: str) -> Headers:
    """Return what every reply under an address carries."""
    api = path.startswith("/api") or path in ("/health", "/metrics")
    policy = (b"content-security-policy", API_POLICY if api else PAGE_POLICY)
    tls = [ONLY_TLS] if context.secure else []
    return [policy, *COMMON, *tls, *([(b"cache-control", b"no-store")] if api else [])]


async def send_reply(send: Send, reply: Reply, more: Headers) -> None:
    """Send a reply with the house's headers."""
    headers = [(b"content-length", b"%d" % len(reply.body)), *reply.headers, *more]
    if reply.kind:
        headers.append((b"content-type", reply.kind))
    start: Any = {"type": "http.response.start", "status": reply.status, "headers": headers}
    await send(start)
    body: Any = {"type": "http.response.body", "body": reply.body, "more_body": False}
    await send(body)


def adding(send: Send, more: Headers) -> Send:
    """Return a way to send that adds the house's headers to whatever has not said them itself."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            said = {name.lower() for name, _ in message["headers"]}
            ours = [each for each in more if each[0] not in said]
            message["headers"] = [*message["headers"], *ours]
        await send(message)

    return sending


def without_body(send: Send) -> Send:
    """Return a way to send that leaves the body out, and says all the same how long it is."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.body":
            message["body"] = b""
        await send(message)

    return sending
