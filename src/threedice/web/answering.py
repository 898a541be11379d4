"""Operations: what can be asked under which address, and the one way in which all are answered.

`operation` makes one from a function; `respond` looks at who asks, at what he may, at the form of
what he says, in this order, and then runs it. Authorisation and the OpenAPI document read the same
operations.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar
from urllib.parse import parse_qsl

import msgspec
from anyio import to_thread

from threedice.errors import QueueFull
from threedice.web.addresses import PARTS, parts_of
from threedice.web.authorisation import may_ask
from threedice.web.entering import address_of, check_json, headers_of, read_body
from threedice.web.problems import Turned
from threedice.web.replying import Headers, Reply, reply_of
from threedice.web.visiting import Visitor, credential_of, recognised

if TYPE_CHECKING:
    from collections.abc import Mapping

    from litestar.types import HTTPScope, Receive

    from threedice.web.context import Context
    from threedice.web.limiting import Turns

P = ParamSpec("P")
T = TypeVar("T")

QUERY_MOST: Final = 2000
WAITING_MOST: Final = 100
"""How many may wait for what costs much."""


@dataclass(slots=True)
class Visit:
    """One request: who asks, and what, in the form that the operation takes."""

    context: Context
    headers: Mapping[bytes, bytes]
    address: str
    receive: Receive
    token: str = ""
    visitor: Visitor | None = None
    path: dict[str, Any] = field(default_factory=dict)
    query: Any = None
    body: Any = None
    replying: Headers = field(default_factory=list)

    @property
    def who(self) -> Visitor:
        """Whoever asks, where that is known."""
        if self.visitor is None:
            raise Turned(401, "door/sign-in")
        return self.visitor

    @property
    def account(self) -> str:
        """The id of the account that asks."""
        return self.who.account.id


Run = Callable[[Visit], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Operation:
    """Something that can be asked: where, in which form, and what comes back."""

    name: str
    method: str
    path: str
    summary: str
    run: Run
    body: Any = None
    query: Any = None
    answer: Any = None
    status: int = 200
    problems: tuple[int, ...] = ()
    keyed: bool = False
    """Whether it takes an `Idempotency-Key`."""
    itself: bool = False
    """Whether it looks itself at who asks and what he says, as the short way of commands does."""


def operation(
    name: str,
    method: str,
    path: str,
    *,
    body: Any = None,
    query: Any = None,
    answer: Any = None,
    status: int = 200,
    problems: tuple[int, ...] = (),
    keyed: bool = False,
    itself: bool = False,
) -> Callable[[Run], Operation]:
    """Make an operation of a function; the first line of its docstring is the summary."""

    def made(run: Run) -> Operation:
        summary = (run.__doc__ or "").partition("\n")[0].strip()
        return Operation(
            name, method, path, summary, run, body, query, answer, status, problems, keyed, itself
        )

    return made


async def respond(
    context: Context, asked: Operation, scope: HTTPScope, receive: Receive, path: Mapping[str, str]
) -> Reply:
    """Answer a request, or raise what is wrong with it."""
    headers = headers_of(scope)
    visit = Visit(context, headers, address_of(context, scope, headers), receive)
    if asked.itself:
        visit.path = dict(path)
        reply: Reply = await asked.run(visit)
        return reply
    await admit(visit, asked.name)
    visit.path = read_path(asked, path)
    if asked.query is not None:
        visit.query = _query(asked.query, scope["query_string"])
    if asked.body is not None:
        check_json(headers)
        visit.body = read(asked.body, await read_body(receive, headers))
    answer = await asked.run(visit)
    if isinstance(answer, Reply):
        return answer._replace(headers=[*answer.headers, *visit.replying])
    return reply_of(answer, asked.status, visit.replying)


async def admit(visit: Visit, name: str) -> None:
    """Recognise whoever asks, and turn away who may not."""
    visit.token = credential_of(visit.context, visit.headers)
    quiet = b"threedice-background" in visit.headers
    visit.visitor = await recognised(visit.context, visit.token, touch=not quiet)
    if may_ask(visit.visitor, name):
        return
    if visit.visitor is None:
        raise Turned(401, "door/sign-in")
    if visit.visitor.standing != "open":
        raise Turned(403, f"door/{visit.visitor.standing}")
    raise Turned(403, "door/scope" if visit.visitor.scopes is not None else "door/role")


def read_path(asked: Operation, given: Mapping[str, str]) -> dict[str, Any]:
    """Return the parts of an address in their form; one of another form names nothing."""
    read: dict[str, Any] = {}
    for name in parts_of(asked.path):
        try:
            read[name] = msgspec.convert(given[name], PARTS[name], strict=False)
        except msgspec.ValidationError:
            raise Turned(404, "unknown/id", kind=name, name=given[name][:100]) from None
    return read


def _query(form: Any, text: bytes) -> Any:
    if len(text) > QUERY_MOST:
        raise Turned(422, "door/form", problem=f"a query has at most {QUERY_MOST} bytes")
    try:
        pairs = parse_qsl(text.decode("ascii"), keep_blank_values=True, strict_parsing=bool(text))
    except (ValueError, UnicodeDecodeError):
        raise Turned(422, "door/form", problem="this is no query") from None
    said = dict(pairs)
    if len(said) < len(pairs):
        raise Turned(422, "door/form", problem="something is said twice in the query")
    try:
        return msgspec.convert(said, form, strict=False)
    except msgspec.ValidationError as error:
        raise Turned(422, "door/form", problem=str(error)) from None


_decoders: dict[Any, msgspec.json.Decoder[Any]] = {}


def read(form: Any, body: bytes) -> Any:
    """Return what a body says in a form, or tell where it does not."""
    decoder = _decoders.get(form)
    if decoder is None:
        decoder = _decoders[form] = msgspec.json.Decoder(form)
    try:
        return decoder.decode(body)
    except msgspec.ValidationError as error:
        raise Turned(422, "door/form", problem=str(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Turned(400, "door/malformed", problem=str(error)[:200]) from None


async def in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Do in a thread what waits for a database, so that nobody else waits for it."""
    return await to_thread.run_sync(partial(function, *args, **kwargs))


async def in_turn(
    turns: Turns,
    function: Callable[P, T],
    *args: P.args,
    **kwargs: P.kwargs,
) -> T:
    """Do in a thread what costs much: a few at a time, and no more waiting than may."""
    if turns.locked() and turns.waiting >= WAITING_MOST:
        raise QueueFull("too much is waiting; ask again later")
    turns.waiting += 1
    try:
        async with turns:
            return await in_thread(function, *args, **kwargs)
    finally:
        turns.waiting -= 1
