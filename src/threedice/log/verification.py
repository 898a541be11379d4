"""Proof that a log is what was written: every chain, head, answer, game and checkpoint.

Everything is computed anew from the rows exactly as they are stored. What is wrong comes out as
findings that say where; whatever a row may hold, it is a finding and never a failure.
"""

from __future__ import annotations

from contextlib import contextmanager
from hashlib import sha256
from itertools import chain
from typing import TYPE_CHECKING

from threedice.errors import Tampered
from threedice.log import schema
from threedice.log.causes import UNREADABLE, said_by, said_by_all
from threedice.log.chains import Chains
from threedice.log.entry import cause_of
from threedice.log.findings import Finding, Report, versions
from threedice.log.matching import Matching, record
from threedice.log.rows import open_rows
from threedice.log.witnesses import Claims, Witnesses

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from threedice.log.chains import Visitor
    from threedice.log.keys import PublicKey
    from threedice.log.matching import Mismatch
    from threedice.log.rows import Row, Rows
    from threedice.log.store import Checkpoint, Span, Store


def verify_log(
    store: Store | Path | Rows,
    *,
    public_keys: Mapping[str, PublicKey],
    against: Sequence[Checkpoint] = (),
    streams: Sequence[str] | None = None,
    visitor: Visitor | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Verify a store, an SQLite file such as a backup, or rows, as they are at this moment.

    The visitor is shown all rows that are sound. `progress` hears how many entries of how many are
    done.
    """
    try:
        with open_rows(store) as rows:
            return verify_rows(
                rows,
                public_keys=public_keys,
                against=against,
                streams=streams,
                visitor=visitor,
                progress=progress,
            )
    except Tampered as tampered:
        return Report((Finding(tampered.where, tampered.problem),), 0, 0, 0, 0, 0)


def verify_rows(
    rows: Rows,
    *,
    public_keys: Mapping[str, PublicKey],
    against: Sequence[Checkpoint] = (),
    streams: Sequence[str] | None = None,
    visitor: Visitor | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Verify rows; with `streams`, only those streams and what concerns them."""
    found: list[Finding] = []
    if streams is None:
        found += (Finding("the database", what) for what in rows.damage())
    with Matching() as matching:
        witnesses = Witnesses(public_keys, found)
        with _noting(found):
            witnesses.hear(chain.from_iterable(rows.chunks(schema.checkpoints)), against)
        walk = _Walk(rows, witnesses.claims, matching, found, streams)
        with _noting(found):
            walk.streams(visitor, progress)
            if streams is None:
                found += (Finding("the database", what) for what in rows.unread(walk.entry_count))
            walk.answers()
        games = 0
        with _noting(found):
            games = _check_games(rows, found)
    return Report(
        tuple(found), walk.stream_count, walk.entry_count, walk.answer_count, games, witnesses.heard
    )


@contextmanager
def _noting(found: list[Finding]) -> Iterator[None]:
    """Take what the database cannot read as a finding, and leave what follows from it unchecked."""
    try:
        yield
    except Tampered as tampered:
        found.append(Finding(tampered.where, tampered.problem))


class _Walk:
    """Goes through streams and answers, and compares what they say of each other."""

    def __init__(
        self,
        rows: Rows,
        claims: Claims,
        matching: Matching,
        found: list[Finding],
        names: Sequence[str] | None,
    ) -> None:
        self._rows, self._claims, self._matching = rows, claims, matching
        self._found, self._names = found, names
        self.stream_count = self.entry_count = self.answer_count = 0

    def streams(
        self,
        visitor: Visitor | None,
        progress: Callable[[int, int], None] | None,
    ) -> None:
        """Follow every stream."""
        heads = {
            stream: (version, digest)
            for chunk in self._rows.chunks(schema.streams, self._names)
            for stream, version, digest in chunk
        }
        total = sum(version for version, _ in heads.values() if type(version) is int)
        claims = self._claims if self._names is None else self._claims.only(self._names)
        chains = Chains(heads, claims, self._matching, self._found, visitor)
        try:
            for chunk in self._rows.chunks(schema.entries, self._names):
                chains.take(chunk)
                self.entry_count += len(chunk)
                if progress is not None:
                    progress(self.entry_count, max(total, self.entry_count))
        finally:
            self.stream_count = chains.count
        chains.finish()

    def answers(self) -> None:
        """Compare what every answer says was written with what was found."""
        if not self._agrees_at_once():
            self._matching.forget_said()
            self._hear_answers()
            self._compare()

    def _agrees_at_once(self) -> bool:
        """Tell whether all answers agree with all entries, without saying which do not."""
        if self._names is not None:
            return False
        try:
            for chunk in self._rows.in_any_order(schema.answers):
                self.answer_count += len(chunk)
                for begin, records in said_by_all(chunk).items():
                    self._matching.said(begin, records)
        except UNREADABLE:
            return False
        return self._matching.agree()

    def _hear_answers(self) -> None:
        """Take in what every answer says, one by one, and note what cannot be read."""
        wanted = None if self._names is None else set(self._names)
        self.answer_count = 0
        for row in self._all_answers():
            self.answer_count += 1
            account, key, command_hash, spans = row
            try:
                decoded = said_by(spans)
                cause = cause_of(account, key, command_hash)
                for span in decoded:
                    if wanted is None or span.stream in wanted:
                        begin, one = record(cause, span)
                        self._matching.said(begin, [one])
            except UNREADABLE as error:
                self._note(_named(row), f"cannot be read: {error}")

    def _compare(self) -> None:
        """Note entries that no answer accounts for, and answers that account for what is not."""
        mismatches = {each.cause: each for each in self._matching.mismatches()}
        for mismatch in mismatches.values():
            if not mismatch.said:
                for span in mismatch.found:
                    self._note(_place(span), "no answer says which command caused it")
        if any(mismatch.said for mismatch in mismatches.values()):
            self._name_answers(mismatches)

    def _name_answers(self, mismatches: Mapping[bytes, Mismatch]) -> None:
        """Note which answers are meant, by a second look at all of them."""
        for row in self._all_answers():
            try:
                mismatch = mismatches.get(cause_of(*row[:3]))
            except UNREADABLE:
                continue
            if mismatch is not None:
                said, found = _places(mismatch.said), _places(mismatch.found)
                self._note(_named(row), f"says it wrote {said}; what it caused is {found}")

    def _all_answers(self) -> Iterator[Row]:
        return chain.from_iterable(self._rows.chunks(schema.answers))

    def _note(self, where: str, what: str) -> None:
        self._found.append(Finding(where, what))


def _check_games(rows: Rows, found: list[Finding]) -> int:
    count = 0
    for digest, canonical in chain.from_iterable(rows.chunks(schema.games)):
        count += 1
        if type(canonical) is not bytes or sha256(canonical).hexdigest() != digest:
            found.append(Finding(f"game {digest}", "its bytes do not have that hash"))
    return count


def _named(row: Row) -> str:
    return f"answer to {row[0]} {row[1]}"


def _places(spans: Sequence[Span]) -> str:
    return ", ".join(map(_place, spans)) or "nothing"


def _place(span: Span) -> str:
    return versions(span.stream, span.first, span.last)
