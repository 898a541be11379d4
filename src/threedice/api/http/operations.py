"""Declare HTTP operations, parse requests and dispatch them.

Operations: what can be asked under which address, and the one way in which all are answered.

`operation` makes one from a function; `dispatch` looks at who asks, at what he may, at the form of
what he says, in this order, and then runs it. Authorisation and the OpenAPI document read the same
operations.

The parts of addresses that name something, each with its form.

What is looked at first: the host that was meant, where a request comes from, what it brings.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Final
from urllib.parse import parse_qsl

import msgspec

from threedice.api.auth.authentication import (
    Caller,
    authenticate,
    extract_token,
)
from threedice.api.auth.authorisation import can_use
from threedice.api.http.problems import HttpProblem
from threedice.api.http.responses import HeaderList, HttpResponse, json_response

if TYPE_CHECKING:
    from collections.abc import Mapping

    from litestar.types import HTTPScope, Receive, Scope

    from threedice.api.context import ServerContext


MAX_QUERY_BYTES: Final = 2000


@dataclass(slots=True)
class RequestContext:
    """One request: who asks, and what, in the form that the operation takes."""

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
        """Whoever asks, where that is known."""
        if self.authenticated_caller is None:
            raise HttpProblem(401, "door/sign-in")
        return self.authenticated_caller

    @property
    def account_id(self) -> str:
        """The id of the account that asks."""
        return self.caller.account.id


Handler = Callable[[RequestContext], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Operation:
    """Something that can be asked: where, in which form, and what comes back."""

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
    """Whether it takes an `Idempotency-Key`."""
    is_raw: bool = False
    """Whether it looks itself at who asks and what he says, as the short way of commands does."""


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
    """Make an operation of a function; the first line of its docstring is the summary."""

    def made(run: Handler) -> Operation:
        summary = (run.__doc__ or "").partition("\n")[0].strip()
        return Operation(
            name,
            method,
            path,
            summary,
            run,
            body,
            query,
            response,
            status,
            problems,
            requires_key,
            is_raw,
        )

    return made


async def dispatch(
    context: ServerContext,
    operation: Operation,
    scope: HTTPScope,
    receive: Receive,
    path_params: Mapping[str, str],
) -> HttpResponse:
    """Answer a request, or raise what is wrong with it."""
    headers = parse_headers(scope)
    visit = RequestContext(context, headers, client_address(context, scope, headers), receive)
    if operation.is_raw:
        visit.path_params = dict(path_params)
        reply: HttpResponse = await operation.handler(visit)
        return reply
    await authorise(visit, operation.name)
    visit.path_params = parse_path(operation, path_params)
    if operation.query is not None:
        visit.query = _parse_query(operation.query, scope["query_string"])
    if operation.body is not None:
        require_json(headers)
        visit.body = decode_body(operation.body, await read_body(receive, headers))
    answer = await operation.handler(visit)
    if isinstance(answer, HttpResponse):
        return answer._replace(headers=[*answer.headers, *visit.response_headers])
    return json_response(answer, operation.status, visit.response_headers)


async def authorise(request: RequestContext, operation_name: str) -> None:
    """Recognise whoever asks, and turn away who may not."""
    request.token = extract_token(request.context, request.headers)
    quiet = b"threedice-background" in request.headers
    request.authenticated_caller = await authenticate(
        request.context, request.token, touch=not quiet
    )
    if can_use(request.authenticated_caller, operation_name):
        return
    if request.authenticated_caller is None:
        raise HttpProblem(401, "door/sign-in")
    if request.authenticated_caller.standing != "open":
        raise HttpProblem(403, f"door/{request.authenticated_caller.standing}")
    raise HttpProblem(
        403, "door/scope" if request.authenticated_caller.scopes is not None else "door/role"
    )


def parse_path(operation: Operation, path_params: Mapping[str, str]) -> dict[str, Any]:
    """Return the parts of an address in their form; one of another form names nothing."""
    read: dict[str, Any] = {}
    for name in path_parameter_names(operation.path):
        try:
            read[name] = msgspec.convert(path_params[name], PATH_PARAMETERS[name], strict=False)
        except msgspec.ValidationError:
            raise HttpProblem(404, "unknown/id", kind=name, name=path_params[name][:100]) from None
    return read


def _parse_query(query_type: Any, text: bytes) -> Any:
    if len(text) > MAX_QUERY_BYTES:
        raise HttpProblem(422, "door/form", problem=f"a query has at most {MAX_QUERY_BYTES} bytes")
    try:
        pairs = parse_qsl(text.decode("ascii"), keep_blank_values=True, strict_parsing=bool(text))
    except (ValueError, UnicodeDecodeError):
        raise HttpProblem(422, "door/form", problem="this is no query") from None
    values = dict(pairs)
    if len(values) < len(pairs):
        raise HttpProblem(422, "door/form", problem="something is said twice in the query")
    try:
        return msgspec.convert(values, query_type, strict=False)
    except msgspec.ValidationError as error:
        raise HttpProblem(422, "door/form", problem=str(error)) from None


_decoders: dict[Any, msgspec.json.Decoder[Any]] = {}


def decode_body(body_type: Any, body: bytes) -> Any:
    """Return what a body says in a form, or tell where it does not."""
    decoder = _decoders.get(body_type)
    if decoder is None:
        decoder = _decoders[body_type] = msgspec.json.Decoder(body_type)
    try:
        return decoder.decode(body)
    except msgspec.ValidationError as error:
        raise HttpProblem(422, "door/form", problem=str(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise HttpProblem(400, "door/malformed", problem=str(error)[:200]) from None


TableId = Annotated[str, msgspec.Meta(pattern="^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]


PlayerId = Annotated[str, msgspec.Meta(pattern=r"^[^/\s\x00-\x1f\x7f-\x9f]{1,100}$")]
"""A player's id: one word, and nothing in it that no database holds or no screen shows."""


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


IDEMPOTENCY_KEY: Final = re.compile(rb'"?([A-Za-z0-9._-]{1,100})"?')
"""An idempotency key as its header has it, in quotes or not."""


_PATH_PARAMETER: Final = re.compile(r"{(\w+)}")


def path_parameter_names(path: str) -> list[str]:
    """Return the names of the parts of an address.

    >>> path_parameter_names("/api/tables/{table}/rounds/{round}")
    ['table', 'round']
    """
    return _PATH_PARAMETER.findall(path)


def to_litestar_path(path: str) -> str:
    """Return an address as Litestar writes it, which keeps some names for itself.

    >>> to_litestar_path("/api/requests/{request}")
    '/api/requests/{the_request:str}'
    """
    return _PATH_PARAMETER.sub(r"{the_\1:str}", path)


def from_litestar_params(params: Mapping[str, str]) -> dict[str, str]:
    """Return the parts of an address by their own names."""
    return {name.removeprefix("the_"): value for name, value in params.items()}


MAX_BODY_BYTES: Final = 64 * 1024


BODY_TIMEOUT_SECONDS: Final = 10.0


class ClientDisconnected(Exception):
    """Whoever asked has gone away; there is nobody to answer."""


def parse_headers(scope: Scope) -> dict[bytes, bytes]:
    """Return the headers of a request; of one that comes twice the last."""
    return dict(scope["headers"])


def client_address(context: ServerContext, scope: HTTPScope, headers: Mapping[bytes, bytes]) -> str:
    """Return the address of whoever asks; behind a proxy of ours the one that the proxy saw.

    Whatever stands further left in `X-Forwarded-For` was said by the caller himself.
    """
    if context.behind_proxy:
        forwarded_for = headers.get(b"x-forwarded-for", b"").decode("latin-1")
        if seen := forwarded_for.rpartition(",")[2].strip()[:64]:
            return seen
    client = scope.get("client")
    return client[0] if client else ""


async def read_body(receive: Receive, headers: Mapping[bytes, bytes]) -> bytes:
    """Return the body of a request, as long as it is not too large and arrives in time."""
    declared = headers.get(b"content-length", b"")
    if declared.isdigit() and int(declared[:20]) > MAX_BODY_BYTES:
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


def require_json(headers: Mapping[bytes, bytes]) -> None:
    """Turn away a body that does not say that it is JSON: no form of another site does."""
    kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
    if kind != b"application/json":
        raise HttpProblem(415, "door/media-type")
