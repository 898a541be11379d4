"""Compare the entries that answers claim with the entries that are stored.

Every cause in the entries needs exactly one answer that claims those entries; the answer to a
refused command claims none. A log may have more answers than memory holds, so the two sides are not
collected but summed up: each claim and each run of entries with the same cause is hashed with a key
drawn for this verification; what is found is added, what is claimed is subtracted. The sums are
zero if both sides are the same. Nobody can change a log so that the sums stay zero, because the key
did not exist when it was changed (MSet-Add-Hash; Clarke et al., "Incremental Multiset Hash
Functions", 2003).

Sums are kept by ranges of versions, so that only the ranges that differ are compared span by span.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Final

import msgspec

from threedice.log.entry import hash_cause
from threedice.log.records import EntrySpan, decode_spans, encode_spans

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping

    from threedice.log.records import StoredRow

MALFORMED_ANSWER_ERRORS: Final = (
    msgspec.DecodeError,
    struct.error,
    TypeError,
    ValueError,
    AttributeError,
)
"""Errors raised while decoding a malformed answer."""

VERSIONS_PER_SUM: Final = 4096

_encode_json: Final = msgspec.json.Encoder().encode


SpanRecorder = Callable[[bytes, str, int, int], None]
"""Records consecutive entries with the same cause: that cause, the stream, first and last."""


class SpanSums:
    """The sums of found minus claimed spans, by stream and range of versions."""

    def __init__(self, key: bytes) -> None:
        self.key = key
        self.sums = defaultdict[tuple[str, int], int](int)

    def add_found(self, cause: bytes, stream: str, first: int, last: int) -> None:
        """Add consecutive entries of a stream with the same cause."""
        self.sums[stream, first // VERSIONS_PER_SUM] += self._number(cause, stream, first, last)

    def add_claimed(self, cause: bytes, spans: Iterable[EntrySpan]) -> None:
        """Subtract the spans that an answer claims."""
        for span in spans:
            number = self._number(cause, span.stream, span.first, span.last)
            self.sums[span.stream, span.first // VERSIONS_PER_SUM] -= number

    def _number(self, cause: bytes, stream: str, first: int, last: int) -> int:
        span = _encode_json((stream, first, last))
        return int.from_bytes(sha256(self.key + cause + span).digest())

    def merge(self, sums: Mapping[tuple[str, int], int]) -> None:
        """Add the sums of another part of the same log, computed with the same key."""
        for where, number in sums.items():
            self.sums[where] += number

    def differing(self) -> set[tuple[str, int]]:
        """Return the ranges of versions where the two sides differ."""
        return {where for where, number in self.sums.items() if number}


@dataclass(slots=True)
class CauseSpans:
    """The spans that an answer claims for a cause, and those found."""

    answer: str = ""
    claimed: list[EntrySpan] = field(default_factory=list)
    found: list[EntrySpan] = field(default_factory=list)

    @property
    def differ(self) -> bool:
        """True if the two sides are different."""
        return sorted(self.claimed, key=_order) != sorted(self.found, key=_order)


class SelectedSpans:
    """The selected spans of both sides, by cause."""

    def __init__(self, select: Callable[[bytes, str, int], bool]) -> None:
        self._select = select
        self.causes = defaultdict[bytes, CauseSpans](CauseSpans)

    def add_found(self, cause: bytes, stream: str, first: int, last: int) -> None:
        """Add consecutive entries of a stream with the same cause, if they are selected."""
        if self._select(cause, stream, first):
            self.causes[cause].found.append(EntrySpan(stream, first, last))

    def add_claimed(self, answer: StoredRow, cause: bytes, spans: Iterable[EntrySpan]) -> None:
        """Add the selected spans that an answer claims."""
        if selected := [span for span in spans if self._select(cause, span.stream, span.first)]:
            self.causes[cause].answer = _describe_answer(answer)
            self.causes[cause].claimed += selected


def find_mismatches(
    differing: Container[tuple[str, int]], collect: Callable[[SelectedSpans], None]
) -> Mapping[bytes, CauseSpans]:
    """Return the causes whose claimed spans are not those found, with all spans of each.

    `collect` adds all spans of both sides.
    """
    nearby = SelectedSpans(
        lambda _cause, stream, first: (stream, first // VERSIONS_PER_SUM) in differing
    )
    collect(nearby)
    wrong = {cause for cause, spans in nearby.causes.items() if spans.differ}
    complete = SelectedSpans(lambda cause, _stream, _first: cause in wrong)
    collect(complete)
    return complete.causes


def read_claims(
    answers: Iterable[StoredRow], note: Callable[[str, str], None] | None = None
) -> Iterator[tuple[StoredRow, bytes, tuple[EntrySpan, ...]]]:
    """Yield each answer with its cause and its claims, and `note` those that are malformed."""
    for answer in answers:
        account, key, command_hash, spans, refusal = answer
        try:
            claims = decode_canonical_spans(spans, refusal)
            yield answer, hash_cause(account, key, command_hash), () if refusal else claims
        except MALFORMED_ANSWER_ERRORS as error:
            if note is not None:
                note(_describe_answer(answer), f"cannot be read: {error}")


def _describe_answer(answer: StoredRow) -> str:
    account, key, *_ = answer
    return f"answer to {account} {key}"


def decode_canonical_spans(spans: bytes, refusal: bytes) -> tuple[EntrySpan, ...]:
    """Decode the spans of an answer, which must be in canonical form, and empty for a refusal."""
    decoded = decode_spans(spans)
    if not decoded or encode_spans(decoded) != spans:
        raise ValueError("its spans are not in canonical form")
    if any((span.first > span.last) is not bool(refusal) for span in decoded):
        raise ValueError("a refused command causes no entries, and an accepted one causes some")
    return decoded


def _order(span: EntrySpan) -> tuple[str, int, int]:
    return span.stream, span.first, span.last
