"""Answers on their way and answers given: the same question is asked once and answered alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from threedice.errors import KeyReused

if TYPE_CHECKING:
    import asyncio

    from threedice.floor.events import AnyStreamEvent
    from threedice.floor.streams import Asked
    from threedice.log.entry import Entry


class Answer(NamedTuple):
    """What an accepted command has made happen, durably."""

    entries: tuple[Entry, ...]
    events: tuple[AnyStreamEvent, ...]

    def version(self, stream: str) -> int:
        """Return how far a stream had come by it."""
        return max(each.version for each in self.entries if each.stream == stream)


def answer_of(asked: Asked) -> Answer:
    """Return what was written of a command."""
    if len(asked.appends) == 1:
        return Answer(asked.appends[0].entries, tuple(asked.events[0]))
    entries = tuple(entry for each in asked.appends for entry in each.entries)
    return Answer(entries, tuple(event for each in asked.events for event in each))


class Waiting:
    """Those who wait for one command; each may go away without taking the answer along."""

    __slots__ = ("_futures", "_loop", "command_hash")

    def __init__(self, command_hash: bytes, loop: asyncio.AbstractEventLoop) -> None:
        self.command_hash, self._loop = command_hash, loop
        self._futures: list[asyncio.Future[Answer]] = []

    def join(self) -> asyncio.Future[Answer]:
        """Return the answer to come, for one who waits."""
        future: asyncio.Future[Answer] = self._loop.create_future()
        self._futures.append(future)
        return future

    def tell(self, end: Answer | BaseException) -> None:
        """Give everybody who still waits the answer, or the failure."""
        for future in self._futures:
            if future.done():
                continue
            if isinstance(end, Answer):
                future.set_result(end)
            else:
                future.set_exception(end)


class Remembered:
    """The last answers that were given, the oldest forgotten by and by."""

    def __init__(self, most: int) -> None:
        self._half = most // 2
        self._newer: dict[tuple[str, str], tuple[bytes, Answer]] = {}
        self._older: dict[tuple[str, str], tuple[bytes, Answer]] = {}

    def get(self, whose: tuple[str, str]) -> tuple[bytes, Answer] | None:
        """Return an answer that is remembered, with what was asked."""
        return self._newer.get(whose) or self._older.get(whose)

    def remember(self, whose: tuple[str, str], answer: tuple[bytes, Answer]) -> None:
        """Remember an answer."""
        self._newer[whose] = answer
        if len(self._newer) > self._half:
            self._newer, self._older = {}, self._newer


def need_same(known: bytes, asked: bytes, key: str) -> None:
    """Stop at a key that stands for another command."""
    if known != asked:
        raise KeyReused(f"the key {key!r} stands for another command; use a new one")
