"""The state of the monitor of one dice set. A new set starts with a new monitor."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from math import log
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from threedice.dice import as_roll
from threedice.dice_monitor.detector import CHANGE_THRESHOLD, NO_ROUNDS, advance
from threedice.dice_monitor.mixture import NO_EVIDENCE, Evidence, log_mean
from threedice.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Sequence

    from threedice.dice import Roll

MAX_DICE: Final = 5
"""The most dice of a set, as Triple Dice offers them to the shooter (7.8)."""


LevelName = Literal["warn", "inspect", "replace"]


class Level(NamedTuple):
    """A threshold of the evidence; fair sets reach it at most once in as many lives."""

    name: LevelName
    evidence: int


LEVELS: Final = (Level("warn", 20), Level("inspect", 100), Level("replace", 1000))


@dataclass(frozen=True, slots=True)
class FaceTrack:
    """The evidence of all dice together, or of one die, and the detector's sums for them."""

    evidence: Evidence = NO_EVIDENCE
    log_sums: tuple[float, ...] = NO_ROUNDS

    def add(self, faces: tuple[int, ...]) -> FaceTrack:
        """Return the track after one more round; a die that was not thrown shows no face."""
        return FaceTrack(self.evidence.add(faces), advance(self.log_sums, faces))


@dataclass(frozen=True, slots=True)
class DiceMonitor:
    """The evidence against one dice set after some rounds.

    `dice` names the dice if it is recorded which die shows which face, such as their colours. The
    evidence is then the mean of that of all faces and that of each die. `tracks` has all faces
    first, then each die. An alarm stands: `crossed` has the round in which the evidence first
    reached each of `LEVELS`, `changed` that of the detector, 0 for never.
    """

    dice: tuple[str, ...] = ()
    tracks: tuple[FaceTrack, ...] = (FaceTrack(),)
    rounds: int = 0
    log_evidence: float = 0.0
    log_change: float = float("-inf")
    crossed: tuple[int, ...] = (0,) * len(LEVELS)
    changed: int = 0

    @classmethod
    def start(cls, dice: Sequence[str] = ()) -> DiceMonitor:
        """Return the monitor of a new set; name its dice if each face is recorded with its die."""
        if dice and (len(set(dice)) != len(dice) or not 3 <= len(dice) <= MAX_DICE):
            raise InvalidInput(
                f"a set of the dice {', '.join(dice)}; name three to {MAX_DICE} different dice"
            )
        return cls(tuple(dice), (FaceTrack(),) * (1 + len(dice)))

    def update(self, roll: Roll, shown_by: Sequence[str] = ()) -> DiceMonitor:
        """Return the monitor after one more round; `shown_by` names the die of each face."""
        faces = as_roll(roll)
        tracks = self._add_to_tracks(faces, shown_by)
        rounds = self.rounds + 1
        evidence = log_mean(track.evidence.log_total for track in tracks)
        change = log_mean(chain.from_iterable(track.log_sums for track in tracks))
        crossed = tuple(
            before or (rounds if evidence >= log(level.evidence) else 0)
            for before, level in zip(self.crossed, LEVELS, strict=True)
        )
        changed = self.changed or (rounds if change >= log(CHANGE_THRESHOLD) else 0)
        return DiceMonitor(self.dice, tracks, rounds, evidence, change, crossed, changed)

    def _add_to_tracks(self, faces: Roll, shown_by: Sequence[str]) -> tuple[FaceTrack, ...]:
        if len(shown_by) != (3 if self.dice else 0) or not set(shown_by) <= set(self.dice):
            expected = f"three of {', '.join(self.dice)}" if self.dice else "none"
            raise InvalidInput(
                f"the dice of a roll are given as {', '.join(shown_by) or 'none'}; "
                f"this set needs {expected}"
            )
        face_of = dict(zip(shown_by, faces, strict=False))
        if len(face_of) != len(shown_by):
            raise InvalidInput(f"the dice {', '.join(shown_by)} name one die twice; name three")
        pooled, *single = self.tracks
        return (
            pooled.add(faces),
            *(
                track.add((face_of[die],) if die in face_of else ())
                for die, track in zip(self.dice, single, strict=True)
            ),
        )

    @property
    def level(self) -> Level | None:
        """The highest level that the evidence has reached so far."""
        reached = [level for level, number in zip(LEVELS, self.crossed, strict=True) if number]
        return reached[-1] if reached else None
