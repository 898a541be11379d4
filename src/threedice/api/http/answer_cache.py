"""Encoded answers to expensive queries, kept in memory, and revalidation by their ETags.

A key names everything that an answer depends on, so that a cached answer is never stale: the game
and the stakes of a mix, or the table, the round and the last event that can change an explanation.
"""

from __future__ import annotations

from collections import OrderedDict
from hashlib import sha256
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
from litestar import MediaType, Response

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from threedice.api.http.requests import HouseRequest

MAX_ANSWERS: Final = 2_000
MAX_BYTES: Final = 32 * 1024 * 1024
"""Limits of a cache; the answers that were used the longest ago make room for new ones."""


REVALIDATED: Final = {"revalidated": True}
"""The `opt` of a handler whose answer a client may keep, and which may respond with 304."""


class Answer(NamedTuple):
    """An encoded answer, and its strong ETag, which is derived from the content."""

    body: bytes
    etag: str


class AnswerCache:
    """The answers that were used last, by key; all methods may be called from any thread.

    `on_use` is called for each answer that is returned, with whether it was cached.
    """

    def __init__(
        self,
        on_use: Callable[[bool], None],
        *,
        max_answers: int = MAX_ANSWERS,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self._on_use, self._max_answers, self._max_bytes = on_use, max_answers, max_bytes
        self._answers: OrderedDict[Hashable, Answer] = OrderedDict()
        self._bytes, self._lock = 0, Lock()

    def __len__(self) -> int:
        return len(self._answers)

    def get(self, key: Hashable) -> Answer | None:
        """Return the answer under a key, or None."""
        with self._lock:
            if answer := self._answers.get(key):
                self._answers.move_to_end(key)
        if answer:
            self._on_use(True)
        return answer

    def get_or_build(self, key: Hashable, build: Callable[[], Any]) -> Answer:
        """Return the answer under a key; build and keep it if it is not there.

        >>> cache = AnswerCache(print, max_answers=2)
        >>> for key in "abcb":
        ...     answer = cache.get_or_build(key, lambda: "an expensive answer")
        False
        False
        False
        True
        >>> cache.get("a"), len(cache)
        (None, 2)
        """
        if answer := self.get(key):
            return answer
        answer = make_answer(build())
        self._put(key, answer)
        self._on_use(False)
        return answer

    def _put(self, key: Hashable, answer: Answer) -> None:
        with self._lock:
            if key in self._answers:
                self._bytes -= len(self._answers.pop(key).body)
            self._answers[key] = answer
            self._bytes += len(answer.body)
            while len(self._answers) > self._max_answers or self._bytes > self._max_bytes:
                _, dropped = self._answers.popitem(last=False)
                self._bytes -= len(dropped.body)


def make_answer(value: Any) -> Answer:
    """Encode a value as an answer."""
    body = msgspec.json.encode(value)
    return Answer(body, f'"{sha256(body).hexdigest()[:32]}"')


def revalidated_response(request: HouseRequest, answer: Answer) -> Response[Any]:
    """Return an answer that a client may keep and revalidate; 304 if the client has it."""
    headers = {"cache-control": "no-cache", "etag": answer.etag}
    known = request.raw_headers.get(b"if-none-match", b"").decode("latin-1")
    tags = {tag.strip().removeprefix("W/") for tag in known.split(",")}
    if tags & {answer.etag, "*"}:
        return Response(None, status_code=304, headers=headers)
    return Response(answer.body, headers=headers, media_type=MediaType.JSON)
