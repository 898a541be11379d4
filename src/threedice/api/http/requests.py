"""Parameters, bodies and query strings of requests, with their limits.

Litestar parses paths and queries by the signatures of the handlers. `HouseRequest` adds what it
does not have: limits on the size and arrival time of bodies, and strict decoding of JSON.
"""

from __future__ import annotations

import asyncio
from functools import cache
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Annotated, Any, Final
from urllib.parse import parse_qsl

import msgspec
from litestar import Request
from litestar.connection.base import empty_receive, empty_send
from litestar.datastructures import State
from litestar.params import PathParameter, QueryParameter

from threedice.api.http.addresses import client_network
from threedice.api.http.problems import ClientDisconnected, HttpProblem
from threedice.errors import InvalidInput
from threedice.names import ID_CHARACTER, TABLE_ID, check_id, check_text, check_texts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from litestar.handlers import HTTPRouteHandler
    from litestar.types import Receive, Scope, Send

    from threedice.api.context import ServerContext

MAX_QUERY_BYTES: Final = 2000
MAX_BODY_BYTES: Final = 64 * 1024
BODY_TIMEOUT_SECONDS: Final = 10.0

_HEADERS: Final = "threedice_headers"
"""The key of the parsed headers in the state of a request."""

RATE_LIMIT_HEADERS: Final = "threedice_rate_limit"
"""The key of the headers about the rate limit in the state of a request."""

_TABLE_ID: Final = rf"^{TABLE_ID}\Z"
_PLAYER_ID: Final = rf"^{ID_CHARACTER}{{1,100}}\Z"
_KEY: Final = r"^[A-Za-z0-9._-]{1,100}\Z"
_OPAQUE_ID: Final = r"^[A-Za-z0-9]{1,64}\Z"
_PIECE_NAME: Final = r"^[^/]{1,100}\Z"
_RULEBOOK_NAME: Final = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z"

# In a path Litestar checks `PathParameter`, in a body msgspec checks `Meta`.
TableId = Annotated[str, msgspec.Meta(pattern=_TABLE_ID), PathParameter(pattern=_TABLE_ID)]

PlayerId = Annotated[str, msgspec.Meta(pattern=_PLAYER_ID), PathParameter(pattern=_PLAYER_ID)]
"""A player's id: one word without control characters, so that it can be stored and displayed."""

IdempotencyKey = Annotated[str, msgspec.Meta(pattern=_KEY), PathParameter(pattern=_KEY)]
OpaqueId = Annotated[str, msgspec.Meta(pattern=_OPAQUE_ID), PathParameter(pattern=_OPAQUE_ID)]
RulebookName = Annotated[str, PathParameter(pattern=_RULEBOOK_NAME)]
RoundNumber = Annotated[int, PathParameter(ge=1, le=2**53)]
PieceName = Annotated[str, PathParameter(pattern=_PIECE_NAME)]
LineCount = Annotated[int, QueryParameter(ge=1, le=1000)]
OptionalTable = Annotated[str | None, QueryParameter(pattern=_TABLE_ID)]
OptionalPlayer = Annotated[str | None, QueryParameter(pattern=_PLAYER_ID)]
SearchText = Annotated[str, QueryParameter(max_length=100)]
OptionalTime = Annotated[int | None, QueryParameter(ge=0, le=2**53)]

INJECTED: Final = frozenset({"request", "context", "caller", "data"})
"""Names of handlers' parameters that are neither in the path nor in the query."""


SECRET_FIELDS: Final = frozenset({"password", "old", "new", "code"})
"""Fields of bodies that may contain any character, because they are never displayed."""


class HouseRequest(Request[Any, str, State]):
    """A request whose body is limited in size and time; `user` is the caller, `auth` the token."""

    def __init__(
        self, scope: Scope, receive: Receive = empty_receive, send: Send = empty_send
    ) -> None:
        super().__init__(scope, receive, send)
        self.context: ServerContext = scope["litestar_app"].state.context
        self.raw_headers = parse_headers(scope)
        self._received: bytes | None = None

    @property
    def client_address(self) -> str:
        """The client's network; behind a trusted proxy, the one that the proxy saw.

        Only the rightmost entry of `X-Forwarded-For` counts: the client controls the others.
        """
        if self.context.behind_proxy and b"x-forwarded-for" in self.raw_headers:
            forwarded_for = self.raw_headers[b"x-forwarded-for"].decode("latin-1")
            return client_network(forwarded_for.rpartition(",")[2])
        client = self.scope.get("client")
        return client_network(client[0]) if client else ""

    async def body(self) -> bytes:
        """Return the body of a request that is declared as JSON.

        HTML forms of other sites cannot declare it.
        """
        if self._received is None:
            media_type = self.raw_headers.get(b"content-type", b"").partition(b";")[0]
            if media_type.strip().lower() != b"application/json":
                raise HttpProblem(415, "door/media-type")
            self._received = await read_body(self.receive, self.raw_headers)
        return self._received

    async def json(self) -> Any:
        """Decode the body to the type of the handler's `data` parameter, and check its texts."""
        field = self.route_handler.parsed_data_field
        data = decode_body(field.annotation if field else Any, await self.body())
        check_texts(
            {
                name: value
                for name, value in msgspec.to_builtins(data).items()
                if name not in SECRET_FIELDS
            }
        )
        return data


def check_parameters(request: HouseRequest) -> None:
    """Reject ids of players that a schema cannot recognise as invalid, and check the query."""
    player = request.scope["path_params"].get("player")
    if player is not None:
        try:
            check_id(player)
        except InvalidInput:
            raise HttpProblem(404, "unknown/id", kind="player", name=player[:100]) from None
    check_query(request)


def check_query(request: HouseRequest) -> None:
    """Reject query strings that are malformed, repeat or lack a parameter, or have unknown ones.

    Litestar would ignore what it does not expect.
    """
    known = query_parameters(request.scope["route_handler"])
    if not known:
        return
    text: bytes = request.scope["query_string"]
    if len(text) > MAX_QUERY_BYTES:
        raise _invalid_query(f"a query string has at most {MAX_QUERY_BYTES} bytes")
    try:
        decoded = text.decode("ascii")
        pairs = parse_qsl(decoded, keep_blank_values=True, strict_parsing=True) if decoded else []
    except (ValueError, UnicodeDecodeError):
        raise _invalid_query("the query string is malformed") from None
    names = [name for name, _ in pairs]
    for name, parameter in known.items():
        if parameter.default is parameter.empty and name not in names:
            raise _invalid_query(f"the query parameter {name!r} is missing")
    if len(set(names)) < len(names):
        raise _invalid_query("a query parameter is given twice")
    for name, value in pairs:
        if name not in known or not value:
            raise _invalid_query(f"the query parameter {name[:100]!r} is unknown or empty")
        check_text(value, f"the query parameter {name!r}")
        if name == "player":
            check_id(value)


def _invalid_query(problem: str) -> HttpProblem:
    return HttpProblem(422, "door/form", problem=problem)


@cache
def query_parameters(handler: HTTPRouteHandler) -> dict[str, Parameter]:
    """Return the parameters of a handler that come from the query string, by name."""
    path = next(iter(handler.paths))
    return {
        name: parameter
        for name, parameter in signature(handler.fn).parameters.items()
        if name not in INJECTED and f"{{{name}:" not in path
    }


_decoder_for: Final = cache(msgspec.json.Decoder)


def decode_body(body_type: Any, body: bytes) -> Any:
    """Decode a JSON body to a type; the problem names the first field that does not match."""
    try:
        return _decoder_for(body_type).decode(body)
    except msgspec.ValidationError as error:
        raise HttpProblem(422, "door/form", problem=str(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise HttpProblem(400, "door/malformed", problem=str(error)[:200]) from None


def parse_headers(scope: Scope) -> dict[bytes, bytes]:
    """Return the headers of a request, parsed once; of a repeated one the last."""
    state = scope["state"]
    headers: dict[bytes, bytes] | None = state.get(_HEADERS)
    if headers is None:
        headers = state[_HEADERS] = dict(scope["headers"])
    return headers


async def read_body(receive: Receive, headers: Mapping[bytes, bytes]) -> bytes:
    """Read a request body; reject one that is too large or arrives too slowly."""
    declared_length = headers.get(b"content-length", b"")
    if declared_length.isdigit() and int(declared_length[:20]) > MAX_BODY_BYTES:
        raise HttpProblem(413, "door/too-large", most=MAX_BODY_BYTES)
    body, more = _append_part(b"", await receive())
    if not more:  # nearly every body; a timer would be a large part of the cost of a bet
        return body
    try:
        async with asyncio.timeout(BODY_TIMEOUT_SECONDS):
            while more:
                body, more = _append_part(body, await receive())
    except TimeoutError:
        raise HttpProblem(408, "door/slow") from None
    return body


def _append_part(body: bytes, message: Any) -> tuple[bytes, bool]:
    """Return a body with its next part, and whether there is more of it."""
    if message["type"] != "http.request":
        raise ClientDisconnected
    body += message["body"]
    if len(body) > MAX_BODY_BYTES:
        raise HttpProblem(413, "door/too-large", most=MAX_BODY_BYTES)
    return body, bool(message.get("more_body"))
