"""A store in memory: for tests, for trying things out, and as the model of the other two."""

from __future__ import annotations

from contextlib import contextmanager
from threading import RLock
from time import monotonic
from typing import TYPE_CHECKING

from threedice.errors import StreamConflict
from threedice.log.conflicts import check_projection_lines, check_proposal, resolve_proposals
from threedice.log.entry import EMPTY_HEAD
from threedice.log.store import Acceptance

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from threedice.log.entry import Entry, Head
    from threedice.log.store import (
        Checkpoint,
        ProjectionLine,
        Proposal,
        ProposalOutcome,
        Snapshot,
        StoredAnswer,
    )


class MemoryStore:
    """Keeps everything while the program runs, and nothing after it."""

    writer_process: None = None

    def __init__(self) -> None:
        self._lock = RLock()
        self._entries: dict[str, list[Entry]] = {}
        self._heads: dict[str, Head] = {}
        self._answers: dict[tuple[str, str], StoredAnswer] = {}
        self._games: dict[str, bytes] = {}
        self._snapshots: dict[tuple[str, str], Snapshot] = {}
        self._lines: dict[str, list[ProjectionLine]] = {}
        self._views: dict[tuple[str, str], int] = {}
        self._checkpoints: dict[int, Checkpoint] = {}
        self._leases: dict[str, tuple[str, float]] = {}
        self._people: dict[str, bytes] = {}
        self._suspended = ""

    # the log itself

    def write(self, proposals: Sequence[Proposal]) -> list[ProposalOutcome]:
        """Write a batch; each proposal as a whole or not at all."""
        for proposal in proposals:
            check_proposal(proposal)
        with self._lock:
            outcomes = resolve_proposals(proposals, self._heads, self._answers)
            for proposal, outcome in zip(proposals, outcomes, strict=True):
                if isinstance(outcome, Acceptance):
                    self._add(proposal)
            return outcomes

    def read(self, stream: str, after: int = 0, limit: int = 1000) -> list[Entry]:
        """Return entries of a stream in order, from the version after the one given."""
        with self._lock:
            return self._entries.get(stream, [])[after : after + limit]

    def scan(self, stream: str, after: int = 0) -> Iterator[Entry]:
        """Yield all entries of a stream in the order of their versions."""
        while page := self.read(stream, after):
            yield from page
            after = page[-1].version

    def head(self, stream: str) -> Head:
        """Return the head of a stream, that of an empty one where there is none."""
        with self._lock:
            return self._heads.get(stream, EMPTY_HEAD)

    def heads(self) -> dict[str, Head]:
        """Return the heads of all streams, as one moment saw them."""
        with self._lock:
            return {stream: head for stream, head in self._heads.items() if head.version}

    def streams(self) -> list[str]:
        """Return the names of all streams, sorted."""
        return sorted(self.heads())

    def answer(self, account: str, key: str) -> StoredAnswer | None:
        """Return what became of a command, or nothing where it was never accepted."""
        with self._lock:
            return self._answers.get((account, key))

    def answers(self) -> Iterator[StoredAnswer]:
        """Yield every answer, by account and key."""
        with self._lock:
            kept = sorted(self._answers.items())
        yield from (answer for _, answer in kept)

    def game(self, game_hash: str) -> bytes | None:
        """Return the canonical bytes of a game that some round pins."""
        with self._lock:
            return self._games.get(game_hash)

    def games(self) -> dict[str, bytes]:
        """Return the canonical bytes of all games, by their hash."""
        with self._lock:
            return dict(self._games)

    def _add(self, proposal: Proposal) -> None:
        for append in proposal.appends:
            self._entries.setdefault(append.stream, []).extend(append.entries)
        for game_hash, canonical in proposal.games.items():
            self._games.setdefault(game_hash, canonical)

    # folds over it

    def snapshot(self, stream: str, name: str) -> Snapshot | None:
        """Return the latest snapshot of a fold over a stream."""
        with self._lock:
            return self._snapshots.get((stream, name))

    def snapshots(self) -> Iterator[Snapshot]:
        """Yield every snapshot, by stream and name."""
        with self._lock:
            kept = sorted(self._snapshots.items(), key=lambda each: each[0])
        yield from (snapshot for _, snapshot in kept)

    def save_snapshot(self, snapshot: Snapshot) -> None:
        """Keep a snapshot instead of the one of that stream and name before it."""
        with self._lock:
            self._snapshots[snapshot.stream, snapshot.name] = snapshot

    def project(
        self, view: str, stream: str, after: int, upto: int, lines: Sequence[ProjectionLine]
    ) -> bool:
        """Add the lines that follow from entries after one version up to another."""
        check_projection_lines(view, stream, after, upto, lines)
        with self._lock:
            if self._views.get((view, stream), 0) != after:
                return False
            self._views[view, stream] = upto
            self._lines.setdefault(view, []).extend(lines)
            return True

    def projected_version(self, view: str, stream: str) -> int:
        """Return up to which version of a stream a view has come."""
        with self._lock:
            return self._views.get((view, stream), 0)

    def lines(
        self,
        view: str,
        *,
        subject: str | None = None,
        stream: str | None = None,
        since: int | None = None,
        until: int | None = None,
        limit: int | None = None,
    ) -> list[ProjectionLine]:
        """Return lines of a view in the order of time, stream, version and place."""
        with self._lock:
            found = [
                line
                for line in self._lines.get(view, ())
                if (subject is None or line.subject == subject)
                and (stream is None or line.stream == stream)
                and (since is None or line.at >= since)
                and (until is None or line.at < until)
            ]
        found.sort(key=lambda line: (line.at, line.stream, line.version, line.place))
        return found if limit is None else found[max(0, len(found) - limit) :]

    def all_lines(self) -> list[ProjectionLine]:
        """Return the lines of all views."""
        with self._lock:
            return [line for lines in self._lines.values() for line in lines]

    def all_view_versions(self) -> list[tuple[str, str, int]]:
        """Return how far each view has come in each stream."""
        with self._lock:
            return [(view, stream, upto) for (view, stream), upto in self._views.items()]

    def delete_view(self, view: str) -> None:
        """Delete the lines of a view, and how far it has come."""
        with self._lock:
            self._lines.pop(view, None)
            self._views = {key: upto for key, upto in self._views.items() if key[0] != view}

    def delete_derived_data(self, stream: str | None = None) -> None:
        """Delete snapshots, lines and how far views have come, of all streams or of one."""

        def stays(other: str) -> bool:
            return stream is not None and other != stream

        with self._lock:
            self._snapshots = {
                key: each for key, each in self._snapshots.items() if stays(each.stream)
            }
            for view, lines in self._lines.items():
                self._lines[view] = [line for line in lines if stays(line.stream)]
            self._views = {key: upto for key, upto in self._views.items() if stays(key[1])}

    # what proves it

    def add_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Keep a checkpoint for ever; another of its number is a conflict."""
        with self._lock:
            if self._checkpoints.setdefault(checkpoint.number, checkpoint) != checkpoint:
                raise StreamConflict(f"there is another checkpoint {checkpoint.number} already")

    def checkpoints(self) -> list[Checkpoint]:
        """Return all checkpoints by number."""
        with self._lock:
            return [self._checkpoints[number] for number in sorted(self._checkpoints)]

    # who is at work

    def acquire_lease(self, name: str, holder: str, seconds: float) -> bool:
        """Take or renew a lease, unless another holds it still."""
        now = monotonic()
        with self._lock:
            other, until = self._leases.get(name, (holder, now))
            if other != holder and until > now:
                return False
            self._leases[name] = (holder, now + seconds)
            return True

    def release_lease(self, name: str, holder: str) -> None:
        """Give a lease up."""
        with self._lock:
            if self._leases.get(name, ("", 0.0))[0] == holder:
                del self._leases[name]

    @contextmanager
    def recovery_lock(self) -> Iterator[bool]:
        """Come back; there is no other server."""
        yield True

    def is_sole_server(self) -> bool:
        """Tell whether no other server has this store open: nobody else can reach it."""
        return True

    def suspension_reason(self) -> str:
        """Return why nothing may be written, or nothing."""
        with self._lock:
            return self._suspended

    def suspend(self, reason: str) -> None:
        """Note that nothing may be written until a person has looked, and why."""
        with self._lock:
            self._suspended = reason

    def release(self) -> None:
        """Let writing go on after a person has looked."""
        with self._lock:
            self._suspended = ""

    # personal data

    def set_person(self, player: str, data: bytes) -> None:
        """Keep or replace what is known of a person."""
        with self._lock:
            self._people[player] = data

    def person(self, player: str) -> bytes | None:
        """Return what is known of a person."""
        with self._lock:
            return self._people.get(player)

    def erase_person(self, player: str) -> bool:
        """Forget a person; tells whether there was anything to forget."""
        with self._lock:
            return self._people.pop(player, None) is not None

    def close(self) -> None:
        """Let go of nothing: the store lives as long as it is referred to."""
