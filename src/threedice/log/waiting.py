"""Proposals that wait for the writer: in order, each with whom to tell."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from threedice.log.store import Outcome

if TYPE_CHECKING:
    from threedice.log.store import Proposal

Token = TypeVar("Token")
"""What a caller knows its proposal by, such as the future that it awaits."""


class Now(Future[Outcome]):
    """The token of somebody who waits in `write_now`."""


@dataclass(frozen=True, slots=True)
class Batch(Generic[Token]):
    """Proposals that wait or are being written, as they are handed on, and their tokens."""

    proposals: list[Proposal]
    words: list[Any]
    tokens: list[Token | Now]

    def taken(self, most: int) -> Batch[Token]:
        """Return the first of them, which wait no more."""
        first: Batch[Token] = Batch(self.proposals[:most], self.words[:most], self.tokens[:most])
        del self.proposals[:most], self.words[:most], self.tokens[:most]
        return first

    def put_first(self, batch: Batch[Token]) -> None:
        """Have others wait before them."""
        self.proposals[:0] = batch.proposals
        self.words[:0] = batch.words
        self.tokens[:0] = batch.tokens
