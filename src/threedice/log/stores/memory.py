"""A store in memory: for tests, for experiments, and as the model for the other two."""

from __future__ import annotations

from contextlib import contextmanager
from threading import RLock
from typing import TYPE_CHECKING

from threedice.errors import StreamConflict
from threedice.log.conflicts import check_projection_lines, check_proposal, resolve_proposals
from threedice.log.entry import EMPTY_HEAD
from threedice.log.store import Acceptance
from threedice.runtime import SYSTEM_RUNTIME

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
    from threedice.runtime import Runtime


class MemoryStore:
    """A store that lives as long as the process."""

    def __init__(self, runtime: Runtime = SYSTEM_RUNTIME) -> None:
        self._runtime, self._lock = runtime, RLock()
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

    # --- streams, answers and games

    def write(self, proposals: Sequence[Proposal]) -> list[ProposalOutcome]:
        """Write a batch; each proposal is written completely or not at all."""
        for proposal in proposals:
            check_proposal(proposal)
        with self._lock:
            outcomes = resolve_proposals(proposals, self._heads, self._answers)
            for proposal, outcome in zip(proposals, outcomes, strict=True):
                if isinstance(outcome, Acceptance):
                    self._add(proposal)
            return outcomes

    def read(self, stream: str, after: int = 0, limit: int = 1000) -> list[Entry]:
        """Return up to `limit` entries of a stream in order, from the version after `after`."""
        with self._lock:
            return self._entries.get(stream, [])[after : after + limit]

    def scan(self, stream: str, after: int = 0) -> Iterator[Entry]:
        """Yield all entries of a stream in version order."""
        while page := self.read(stream, after):
            yield from page
            after = page[-1].version

    def head(self, stream: str) -> Head:
        """Return the head of a stream, or the empty head if it has no entries."""
        with self._lock:
            return self._heads.get(stream, EMPTY_HEAD)

    def heads(self) -> dict[str, Head]:
        """Return the heads of all streams, read from one snapshot."""
        with self._lock:
            return {stream: head for stream, head in self._heads.items() if head.version}

    def streams(self) -> list[str]:
        """Return the sorted names of all streams."""
        return sorted(self.heads())

    def answer(self, account: str, key: str) -> StoredAnswer | None:
        """Return the stored answer of an accepted command, or None."""
        with self._lock:
            return self._answers.get((account, key))

    def answers(self) -> Iterator[StoredAnswer]:
        """Yield all answers, ordered by account and key."""
        with self._lock:
            ordered = sorted(self._answers.items())
        yield from (answer for _, answer in ordered)

    def game(self, game_hash: str) -> bytes | None:
        """Return the canonical bytes of a game pinned by some round, or None."""
        with self._lock:
            return self._games.get(game_hash)

    def games(self) -> dict[str, bytes]:
        """Return the canonical bytes of all games by hash."""
        with self._lock:
            return dict(self._games)

    def _add(self, proposal: Proposal) -> None:
        for append in proposal.appends:
            self._entries.setdefault(append.stream, []).extend(append.entries)
        for game_hash, canonical in proposal.games.items():
            self._games.setdefault(game_hash, canonical)

    # --- snapshots and projections

    def snapshot(self, stream: str, name: str) -> Snapshot | None:
        """Return the latest snapshot of a stream under a name, or None."""
        with self._lock:
            return self._snapshots.get((stream, name))

    def snapshots(self) -> Iterator[Snapshot]:
        """Yield all snapshots, ordered by stream and name."""
        with self._lock:
            ordered = sorted(self._snapshots.items(), key=lambda item: item[0])
        yield from (snapshot for _, snapshot in ordered)

    def save_snapshot(self, snapshot: Snapshot) -> None:
        """Save a snapshot, replacing the previous one of the same stream and name."""
        with self._lock:
            self._snapshots[snapshot.stream, snapshot.name] = snapshot

    def project(
        self, view: str, stream: str, after: int, up_to: int, lines: Sequence[ProjectionLine]
    ) -> bool:
        """Add the projection lines of the entries from after `after` up to `up_to`.

        Return False, and add nothing, if the view is not at version `after`.
        """
        check_projection_lines(view, stream, after, up_to, lines)
        with self._lock:
            if self._views.get((view, stream), 0) != after:
                return False
            self._views[view, stream] = up_to
            self._lines.setdefault(view, []).extend(lines)
            return True

    def projected_version(self, view: str, stream: str) -> int:
        """Return the version of a stream up to which a view is projected."""
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
        """Return lines of a view, ordered by time, stream, version and place.

        `since` and `until` bound the time (`until` excluded); `limit` keeps the last lines.
        """
        with self._lock:
            matching = [
                line
                for line in self._lines.get(view, ())
                if (subject is None or line.subject == subject)
                and (stream is None or line.stream == stream)
                and (since is None or line.at >= since)
                and (until is None or line.at < until)
            ]
        matching.sort(key=lambda line: (line.at, line.stream, line.version, line.place))
        return matching if limit is None else matching[max(0, len(matching) - limit) :]

    def all_lines(self) -> list[ProjectionLine]:
        """Return the lines of all views."""
        with self._lock:
            return [line for lines in self._lines.values() for line in lines]

    def all_view_versions(self) -> list[tuple[str, str, int]]:
        """Return view, stream and projected version for each view of each stream."""
        with self._lock:
            return [(view, stream, version) for (view, stream), version in self._views.items()]

    def delete_view(self, view: str) -> None:
        """Delete the lines of a view and its progress."""
        with self._lock:
            self._lines.pop(view, None)
            self._views = {key: version for key, version in self._views.items() if key[0] != view}

    def delete_derived_data(self, stream: str | None = None) -> None:
        """Delete snapshots, projection lines and view progress, of one stream or of all."""

        def is_kept(other: str) -> bool:
            return stream is not None and other != stream

        with self._lock:
            self._snapshots = {
                key: snapshot
                for key, snapshot in self._snapshots.items()
                if is_kept(snapshot.stream)
            }
            for view, lines in self._lines.items():
                self._lines[view] = [line for line in lines if is_kept(line.stream)]
            self._views = {key: version for key, version in self._views.items() if is_kept(key[1])}

    # --- checkpoints

    def add_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Store a checkpoint for ever; a different one with the same number is a conflict."""
        with self._lock:
            if self._checkpoints.setdefault(checkpoint.number, checkpoint) != checkpoint:
                raise StreamConflict(f"there is another checkpoint {checkpoint.number} already")

    def checkpoints(self) -> list[Checkpoint]:
        """Return all checkpoints, ordered by number."""
        with self._lock:
            return [self._checkpoints[number] for number in sorted(self._checkpoints)]

    # --- leases and suspension

    def acquire_lease(self, name: str, holder: str, seconds: float) -> bool:
        """Acquire or renew a lease unless another holder has it."""
        now = self._runtime.monotonic()
        with self._lock:
            current_holder, until = self._leases.get(name, (holder, now))
            if current_holder != holder and until > now:
                return False
            self._leases[name] = (holder, now + seconds)
            return True

    def release_lease(self, name: str, holder: str) -> None:
        """Release a lease, if this holder has it."""
        with self._lock:
            if self._leases.get(name, ("", 0.0))[0] == holder:
                del self._leases[name]

    @contextmanager
    def recovery_lock(self) -> Iterator[bool]:
        """Yield True: there is no other server."""
        yield True

    def is_sole_server(self) -> bool:
        """Return True: no other process can open this store."""
        return True

    def suspension_reason(self) -> str:
        """Return why writing is suspended, or an empty string."""
        with self._lock:
            return self._suspended

    def suspend(self, reason: str) -> None:
        """Record that writing is suspended until a person releases it, and why."""
        with self._lock:
            self._suspended = reason

    def release(self) -> None:
        """End the suspension."""
        with self._lock:
            self._suspended = ""

    # --- personal data

    def set_person(self, player: str, data: bytes) -> None:
        """Store or replace the personal data of a player."""
        with self._lock:
            self._people[player] = data

    def person(self, player: str) -> bytes | None:
        """Return the personal data of a player, or None."""
        with self._lock:
            return self._people.get(player)

    def erase_person(self, player: str) -> bool:
        """Erase the personal data of a player, and return whether there was any."""
        with self._lock:
            return self._people.pop(player, None) is not None

    def close(self) -> None:
        """Do nothing: the store lives as long as it is referenced."""
