"""Declare HTTP operations, parse requests and dispatch them.

`operation` turns a handler function into an `Operation`. `dispatch` handles every request in the
same order: authenticate, authorise, parse, run. Authorisation and the OpenAPI document read the
same operations.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Final
from urllib.parse import parse_qsl

import msgspec

from threedice.api.auth.authentication import Caller, authenticate, extract_token
from threedice.api.auth.authorisation import can_use
from threedice.api.http.problems import HttpProblem
from threedice.api.http.responses import HeaderList, HttpResponse, json_response

if TYPE_CHECKING:
    from collections.abc import Mapping

    from litestar.types import HTTPScope, Receive, Scope

    from threedice.api.context import ServerContext

MAX_QUERY_BYTES: Final = 2000
MAX_BODY_BYTES: Final = 64 * 1024
BODY_TIMEOUT_SECONDS: Final = 10.0

TableId = Annotated[str, msgspec.Meta(pattern="^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]

PlayerId = Annotated[str, msgspec.Meta(pattern=r"^[^/\s\x00-\x1f\x7f-\x9f]{1,100}$")]
"""A player's id: one word without control characters, so that it can be stored and displayed."""

IdempotencyKey = Annotated[str, msgspec.Meta(pattern="^[A-Za-z0-9._-]{1,100}$")]
OpaqueId = Annotated[str, msgspec.Meta(pattern="^[A-Za-z0-9]{1,64}$")]
RulebookName = Annotated[str, msgspec.Meta(pattern="^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
RoundNumber = Annotated[int, msgspec.Meta(ge=1, le=2**53)]

PATH_PARAMETERS: Final[dict[str, Any]] = {
    "table": TableId,
    "player": PlayerId,
    "key": IdempotencyKey,
    "round": RoundNumber,
    "book": RulebookName,
    "layout": RulebookName,
    "request": OpaqueId,
    "session": OpaqueId,
    "token": OpaqueId,
    "person": OpaqueId,
    "assignment": OpaqueId,
}
"""All path parameters by name, with their types."""

IDEMPOTENCY_KEY: Final = re.compile(rb'"?([A-Za-z0-9._-]{1,100})"?')
"""The value of an `Idempotency-Key` header, quoted or not."""

_PATH_PARAMETER: Final = re.compile(r"{(\w+)}")


class ClientDisconnected(Exception):
    """The client closed the connection; there is nobody to respond to."""


@dataclass(slots=True)
class RequestContext:
    """One request: the caller, and the parsed parameters of the operation."""

    context: ServerContext
    headers: Mapping[bytes, bytes]
    client_address: str
    receive: Receive
    token: str = ""
    authenticated_caller: Caller | None = None
    path_params: dict[str, Any] = field(default_factory=dict)
    query: Any = None
    body: Any = None
    response_headers: HeaderList = field(default_factory=list)

    @property
    def caller(self) -> Caller:
        """The authenticated caller; raises a 401 problem if there is none."""
        if self.authenticated_caller is None:
            raise HttpProblem(401, "door/sign-in")
        return self.authenticated_caller

    @property
    def account_id(self) -> str:
        """The id of the caller's account."""
        return self.caller.account.id


Handler = Callable[[RequestContext], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Operation:
    """An HTTP operation: method, path, request and response types, and its handler."""

    name: str
    method: str
    path: str
    summary: str
    handler: Handler
    body: Any = None
    query: Any = None
    response: Any = None
    status: int = 200
    problems: tuple[int, ...] = ()
    requires_key: bool = False
    """Whether it requires an `Idempotency-Key` header."""
    is_raw: bool = False
    """Whether its handler authorises and parses the request itself, as commands do for speed."""


def operation(
    name: str,
    method: str,
    path: str,
    *,
    body: Any = None,
    query: Any = None,
    response: Any = None,
    status: int = 200,
    problems: tuple[int, ...] = (),
    requires_key: bool = False,
    is_raw: bool = False,
) -> Callable[[Handler], Operation]:
    """Make a function an operation; the first line of its docstring is the summary."""

    def decorate(handler: Handler) -> Operation:
        summary = (handler.__doc__ or "").partition("\n")[0].strip()
        return Operation(
            name,
            method,
            path,
            summary,
            handler,
            body,
            query,
            response,
            status,
            problems,
            requires_key,
            is_raw,
        )

    return decorate


async def dispatch(
    context: ServerContext,
    operation: Operation,
    scope: HTTPScope,
    receive: Receive,
    path_params: Mapping[str, str],
) -> HttpResponse:
    """Run an operation for a request; raise if the request is rejected or fails."""
    headers = parse_headers(scope)
    request = RequestContext(context, headers, client_address(context, scope, headers), receive)
    if operation.is_raw:
        request.path_params = dict(path_params)
        response: HttpResponse = await operation.handler(request)
        return response
    await authorise(request, operation.name)
    request.path_params = parse_path(operation, path_params)
    if operation.query is not None:
        request.query = _parse_query(operation.query, scope["query_string"])
    if operation.body is not None:
        require_json(headers)
        request.body = decode_body(operation.body, await read_body(receive, headers))
    result = await operation.handler(request)
    if isinstance(result, HttpResponse):
        return result._replace(headers=[*result.headers, *request.response_headers])
    return json_response(result, operation.status, request.response_headers)


async def authorise(request: RequestContext, operation_name: str) -> None:
    """Authenticate the caller, and reject one who may not use the operation."""
    request.token = extract_token(request.context, request.headers)
    is_background = b"threedice-background" in request.headers
    caller = await authenticate(request.context, request.token, touch=not is_background)
    request.authenticated_caller = caller
    if can_use(caller, operation_name):
        return
    if caller is None:
        raise HttpProblem(401, "door/sign-in")
    if caller.session_state != "open":
        raise HttpProblem(403, f"door/{caller.session_state}")
    raise HttpProblem(403, "door/scope" if caller.scopes is not None else "door/role")


def parse_path(operation: Operation, path_params: Mapping[str, str]) -> dict[str, Any]:
    """Convert path parameters to their types; one that does not match is a 404."""
    parsed: dict[str, Any] = {}
    for name in path_parameter_names(operation.path):
        try:
            parsed[name] = msgspec.convert(path_params[name], PATH_PARAMETERS[name], strict=False)
        except msgspec.ValidationError:
            raise HttpProblem(404, "unknown/id", kind=name, name=path_params[name][:100]) from None
    return parsed


def _parse_query(query_type: Any, text: bytes) -> Any:
    if len(text) > MAX_QUERY_BYTES:
        raise HttpProblem(
            422, "door/form", problem=f"a query string has at most {MAX_QUERY_BYTES} bytes"
        )
    try:
        pairs = parse_qsl(text.decode("ascii"), keep_blank_values=True, strict_parsing=bool(text))
    except (ValueError, UnicodeDecodeError):
        raise HttpProblem(422, "door/form", problem="the query string is malformed") from None
    values = dict(pairs)
    if len(values) < len(pairs):
        raise HttpProblem(422, "door/form", problem="a query parameter is given twice")
    try:
        return msgspec.convert(values, query_type, strict=False)
    except msgspec.ValidationError as error:
        raise HttpProblem(422, "door/form", problem=str(error)) from None


_decoders: dict[Any, msgspec.json.Decoder[Any]] = {}


def decode_body(body_type: Any, body: bytes) -> Any:
    """Decode a JSON body to a type; the problem names the first field that does not match."""
    decoder = _decoders.get(body_type)
    if decoder is None:
        decoder = _decoders[body_type] = msgspec.json.Decoder(body_type)
    try:
        return decoder.decode(body)
    except msgspec.ValidationError as error:
        raise HttpProblem(422, "door/form", problem=str(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise HttpProblem(400, "door/malformed", problem=str(error)[:200]) from None


def parse_headers(scope: Scope) -> dict[bytes, bytes]:
    """Return the headers of a request; of a repeated one the last."""
    return dict(scope["headers"])


def client_address(context: ServerContext, scope: HTTPScope, headers: Mapping[bytes, bytes]) -> str:
    """Return the client's address; behind a trusted proxy, the one that the proxy saw.

    Only the rightmost entry of `X-Forwarded-For` counts: the client controls the others.
    """
    if context.behind_proxy:
        forwarded_for = headers.get(b"x-forwarded-for", b"").decode("latin-1")
        if address := forwarded_for.rpartition(",")[2].strip()[:64]:
            return address
    client = scope.get("client")
    return client[0] if client else ""


def require_json(headers: Mapping[bytes, bytes]) -> None:
    """Reject a body that is not declared as JSON: HTML forms of other sites cannot declare it."""
    media_type = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
    if media_type != b"application/json":
        raise HttpProblem(415, "door/media-type")


async def read_body(receive: Receive, headers: Mapping[bytes, bytes]) -> bytes:
    """Read a request body; reject one that is too large or arrives too slowly."""
    declared_length = headers.get(b"content-length", b"")
    if declared_length.isdigit() and int(declared_length[:20]) > MAX_BODY_BYTES:
        raise HttpProblem(413, "door/too-large", most=MAX_BODY_BYTES)
    first = await receive()
    if first["type"] != "http.request":
        raise ClientDisconnected
    if not first.get("more_body"):
        return _check_body_size(first["body"])
    return await _read_rest(receive, first["body"])


async def _read_rest(receive: Receive, body: bytes) -> bytes:
    try:
        async with asyncio.timeout(BODY_TIMEOUT_SECONDS):
            more = True
            while more:
                message = await receive()
                if message["type"] != "http.request":
                    raise ClientDisconnected
                body = _check_body_size(body + message["body"])
                more = bool(message.get("more_body"))
    except TimeoutError:
        raise HttpProblem(408, "door/slow") from None
    return body


def _check_body_size(body: bytes) -> bytes:
    if len(body) > MAX_BODY_BYTES:
        raise HttpProblem(413, "door/too-large", most=MAX_BODY_BYTES)
    return body


def path_parameter_names(path: str) -> list[str]:
    """Return the names of the parameters of a path.

    >>> path_parameter_names("/api/tables/{table}/rounds/{round}")
    ['table', 'round']
    """
    return _PATH_PARAMETER.findall(path)


def to_litestar_path(path: str) -> str:
    """Convert a path to Litestar's syntax; the prefix avoids names that Litestar reserves.

    >>> to_litestar_path("/api/requests/{request}")
    '/api/requests/{the_request:str}'
    """
    return _PATH_PARAMETER.sub(r"{the_\1:str}", path)


def from_litestar_params(params: Mapping[str, str]) -> dict[str, str]:
    """Return Litestar's path parameters under their own names."""
    return {name.removeprefix("the_"): value for name, value in params.items()}
