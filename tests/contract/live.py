"""Messages on live sockets for each audience, metrics, and lines of the server's journal.

Most journal lines are written only when something fails, so their words are found in the source:
every call with such a word as its first argument, with the names of its keyword arguments.
"""

from __future__ import annotations

import ast
import asyncio
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
from websockets.exceptions import InvalidStatus

from tests.contract import adapter, openapi, recordings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from websockets.asyncio.client import ClientConnection

    from tests.api.live_server import LiveServer

LIVE, JOURNAL = "live.json", "journal.json"
SOURCE = Path(__file__).parents[2] / "src" / "threedice"


class Listener:
    """Receives messages and returns their shapes."""

    def __init__(self) -> None:
        document = openapi.inline_schemas(openapi.normalise(adapter.openapi_document()))
        (described,) = document["live"].values()
        self._schema = described["server-sends"]

    def shape(self, message: dict[str, Any]) -> Any:
        """Return the shape of a message."""
        return openapi.shape_of(message, self._schema)

    async def hear(self, socket: ClientConnection) -> Any:
        """Return the shape of the next message."""
        return self.shape(await adapter.receive(socket))

    async def events(self, socket: ClientConnection, version: int) -> list[Any]:
        """Return the shapes of all events up to a version, however they were batched."""
        heard = await adapter.receive_until(socket, version)
        return [self.shape({"type": "events", "events": [each]})["events"][0] for each in heard]


async def survey() -> dict[str, Any]:
    """Return the messages to each audience of a table during a round, and metrics."""
    listener = Listener()
    with tempfile.TemporaryDirectory(prefix="threedice-contract-") as folder:
        async with adapter.serve_house(Path(folder)) as served:
            return await _survey(served, listener)


async def _survey(served: LiveServer, listener: Listener) -> dict[str, Any]:
    table = await served.open_new_table()
    ids = await table.seat(ann=1000, bob=1000)
    tokens = {
        "staff": table.create_token("boss", "shift-manager"),
        "player": table.create_token("ann", "player"),
        "dealer of another table": _dealer_of_another_table(served, table),
    }
    messages: dict[str, Any] = {}
    for audience, token in tokens.items():
        messages[audience] = await _follow_round(table, listener, token, ids)
    return {
        "messages": messages,
        "resync": await _resync(table, listener, ids),
        "suspension": await _suspension(table, listener, tokens["player"]),
        "handshakes": await _handshakes(table),
        "closing": await _closing(table),
        "metrics": await _metrics(table, ids),
    }


def _dealer_of_another_table(served: LiveServer, table: LiveServer) -> str:
    served.account("elsewhere", "dealer")  # assigned to the house's first table
    account = served.context.identity.accounts.find_by_name(f"elsewhere-{served.table}")
    assert account is not None
    assert table.table != served.table
    return served.context.identity.tokens.create(account.id, "test", ["read"]).token


async def _follow_round(
    table: LiveServer, listener: Listener, token: str, ids: dict[str, str]
) -> dict[str, Any]:
    async with table.follow(token) as socket:
        hello = await listener.hear(socket)
        await table.play("open betting")
        await table.bet(ids["ann"], 50, "big")
        await table.bet(ids["bob"], 50, "small")
        await table.play("dice 4 5 6")
        events = await listener.events(socket, await table.head())
        await socket.send('{"type":"ping","echo":"x"}')
        pong = await listener.hear(socket)
        await socket.send('{"type":"shout"}')
        refused = await listener.hear(socket)
    version = await table.head() - 1
    async with table.follow(token, f"?after={version}") as socket:
        resumed = await listener.hear(socket)
    return {
        "hello": hello, "events": events, "pong": pong, "refused": refused, "resumed": resumed
    }  # fmt: skip


async def _resync(table: LiveServer, listener: Listener, ids: dict[str, str]) -> Any:
    """Return the message to a client that was too slow."""
    await table.play("open betting")
    async with adapter.follow_over_asgi(table) as slow:
        slow.reading.clear()
        for _ in range(adapter.MAX_QUEUED_MESSAGES + 20):
            await table.bet(ids["ann"], 5, "big")
            await table.people.send(adapter.withdrawal(ids["ann"], "big", 5))
        slow.reading.set()
        while (message := await slow.next_message())["type"] != "resync":
            assert message["type"] == "events", message
    return listener.shape(message)


async def _suspension(table: LiveServer, listener: Listener, token: str) -> list[Any]:
    """Return the messages when the house is suspended and released."""
    writer = table.context.house.command_handler.streams.writer
    async with table.follow(token) as socket:
        await listener.hear(socket)
        writer.suspend("tried")
        try:
            suspended = await listener.hear(socket)
        finally:
            writer.halt_reason = ""
        return [suspended, await listener.hear(socket)]


async def _handshakes(table: LiveServer) -> dict[str, int]:
    """Return the status with which sockets are refused."""
    cases: dict[str, tuple[str, dict[str, Any]]] = {
        "anonymous": ("", {}),
        "administrator": (table.create_token("root", "administrator"), {}),
        "unknown table": (table.create_token("boss", "shift-manager"), {"table": "none"}),
        "another origin": (table.sign_in("ann", "player"), {"origin": "http://elsewhere.test"}),
    }
    return {name: await _status(table, token, options) for name, (token, options) in cases.items()}


async def _status(table: LiveServer, token: str, options: dict[str, Any]) -> int:
    try:
        async with table.follow(token, **options):
            return 101
    except InvalidStatus as refused:
        return refused.response.status_code


async def _closing(table: LiveServer) -> dict[str, int]:
    """Return the code with which a socket is closed when its session ends."""
    token = table.sign_in("ann", "player")
    async with table.follow(token) as socket:
        await adapter.receive(socket)
        table.context.identity.sessions.sign_out(token)
        return {"signed out": await adapter.wait_for_close(socket)}


async def _metrics(table: LiveServer, ids: dict[str, str]) -> dict[str, Any]:
    """Return the types and labels of the metrics after each was counted once."""
    token = table.create_token("ann", "player", ["read", "play"])
    path = f"/api/tables/{table.table}/commands"
    bet = {"type": "PlaceBet", "player": ids["ann"], "box": "big"}
    async with httpx.AsyncClient(base_url=table.origin, trust_env=False) as client:
        for key, amount in (("m1", 5), ("m2", 7)):
            headers = {"Authorization": f"Bearer {token}", "Idempotency-Key": key}
            await client.post(path, json=bet | {"amount": amount}, headers=headers)
        text = (await client.get("/metrics")).text
    types = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE))
    labels: dict[str, set[str]] = {name: set() for name in types}
    for name, listed in re.findall(r"^(\w+?)(?:_bucket)?\{(.*)\}", text, re.MULTILINE):
        labels[name] |= set(re.findall(r'(\w+)="', listed))
    return {name: [types[name], *sorted(labels[name])] for name in sorted(types)}


# --- the journal --------------------------------------------------------------------------------


def calls() -> Iterator[tuple[ast.Call, str]]:
    """Yield the calls in the source whose first argument is, or may be, a constant string."""
    for file in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and node.args:
                first = node.args[0]
                choices = [first.body, first.orelse] if isinstance(first, ast.IfExp) else [first]
                for each in choices:
                    if isinstance(each, ast.Constant) and isinstance(each.value, str):
                        yield node, each.value


def is_journal_call(node: ast.Call) -> bool:
    """Return whether a call writes to the journal."""
    function = node.func
    return (
        isinstance(function, ast.Attribute)
        and function.attr in ("write", "warn")
        and isinstance(function.value, ast.Name)
        and function.value.id == "journal"
    )


def journal_words() -> dict[str, list[list[str]]]:
    """Return the words that the source writes to the journal, with the arguments of their calls."""
    words = {word for node, word in calls() if is_journal_call(node)}
    found: dict[str, set[tuple[str, ...]]] = {word: set() for word in words}
    for node, word in calls():
        if word in words:
            found[word].add(tuple(sorted(each.arg for each in node.keywords if each.arg)))
    return {word: [list(each) for each in sorted(found[word])] for word in sorted(words)}


def record() -> None:
    """Record messages, codes and metrics."""
    recordings.write(LIVE, asyncio.run(survey()))


def record_journal() -> None:
    """Record the words that the source writes to the journal."""
    recordings.write(JOURNAL, {"words": journal_words(), "lines": adapter.journal_lines()})
