"""State what the rolls of one dice set show, and what they do not show.

Sentences are codes with facts, so that every program can say them in its own language.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from threedice.dice_monitor.monitor import LEVELS, DiceMonitor, Level, LevelName

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from threedice.dice import Roll
    from threedice.dice_monitor.mixture import FaceCounts

_LOG_TEN: Final = log(10)

SentenceCode = (
    LevelName | Literal["watched", "no-level-reached", "level-reached", "continue", "change"]
)
"""The codes of the sentences that explain a report."""

Limitation = Literal["fairness", "cause", "independence", "single-die", "records"]
"""The codes of what a report does not show."""

MAX_POINTS: Final = 400
"""The most points of a drawing."""


class ObservedRoll(NamedTuple):
    """The faces of a round and, where it is recorded, the die that shows each of them."""

    faces: Roll
    shown_by: tuple[str, ...] = ()


class Crossing(NamedTuple):
    """A level that was reached, and the round of the set in which it was."""

    level: Level
    round: int


class EvidencePoint(NamedTuple):
    """The evidence after a round of the set, as a power of ten."""

    round: int
    log10_evidence: float


class Sentence(NamedTuple):
    """A sentence as its code and its facts."""

    code: SentenceCode
    facts: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class DiceReport:
    """The monitor of a set, and the logarithm of its evidence after each round."""

    monitor: DiceMonitor
    history: tuple[float, ...]

    @property
    def crossings(self) -> tuple[Crossing, ...]:
        """The levels that were reached, lowest first."""
        pairs = zip(LEVELS, self.monitor.crossed, strict=True)
        return tuple(Crossing(level, number) for level, number in pairs if number)

    @property
    def is_alarming(self) -> bool:
        """True if a level or the threshold of the detector was ever reached."""
        return bool(self.crossings) or bool(self.monitor.changed)

    @property
    def peak(self) -> EvidencePoint:
        """The highest evidence so far; before the first round it is one."""
        if not self.history:
            return EvidencePoint(0, 0.0)
        highest = max(self.history)
        return EvidencePoint(self.history.index(highest) + 1, highest / _LOG_TEN)

    @property
    def log10_evidence(self) -> float:
        """The present evidence as a power of ten."""
        return self.monitor.log_evidence / _LOG_TEN

    @property
    def counts(self) -> dict[str, FaceCounts]:
        """The counts of the six faces: of all dice under "", and of each named die."""
        names = ("", *self.monitor.dice)
        tracks = zip(names, self.monitor.tracks, strict=True)
        return {name: track.evidence.counts for name, track in tracks}

    def points(self, most: int = MAX_POINTS) -> tuple[EvidencePoint, ...]:
        """Return points to draw: the start, the highest of each stretch of rounds, and the end.

        The first round at each level is always among them.
        """
        total = len(self.history)
        stretch = max(1, -(-total // most))
        rounds = {0, total, *(crossing.round for crossing in self.crossings)}
        for start in range(0, total, stretch):
            part = self.history[start : start + stretch]
            rounds.add(start + part.index(max(part)) + 1)
        logs = (0.0, *self.history)
        return tuple(EvidencePoint(each, logs[each] / _LOG_TEN) for each in sorted(rounds))

    @property
    def explanation(self) -> tuple[Sentence, Sentence, Sentence]:
        """Three sentences: the evidence, how rare it is with fair dice, and what to do."""
        monitor, peak = self.monitor, self.peak
        watched = {
            "rounds": monitor.rounds,
            "log10_evidence": self.log10_evidence,
            "log10_peak": peak.log10_evidence,
            "peak_round": peak.round,
        }
        if self.crossings:
            level, number = self.crossings[-1]
            rarity = Sentence("level-reached", {"evidence": level.evidence, "round": number})
        else:
            rarity = Sentence("no-level-reached", {"evidence": LEVELS[0].evidence})
        return Sentence("watched", watched), rarity, self._advice

    @property
    def _advice(self) -> Sentence:
        """The advice: by the level, or by the detector where the level asks for less."""
        level, changed = self.monitor.level, self.monitor.changed
        if changed and level in (None, LEVELS[0]):
            return Sentence("change", {"round": changed})
        return Sentence(level.name if level else "continue", {})

    @property
    def not_shown(self) -> tuple[Limitation, ...]:
        """The codes of what the report does not show."""
        single: tuple[Limitation, ...] = () if self.monitor.dice else ("single-die",)
        return ("fairness", "cause", "independence", *single, "records")


def report_on(rolls: Iterable[ObservedRoll | Roll], dice: Sequence[str] = ()) -> DiceReport:
    """Replay the rolls of one set in order; name the dice if rolls say which die shows what."""
    monitor, history = DiceMonitor.start(dice), []
    for each in rolls:
        observed = each if isinstance(each, ObservedRoll) else ObservedRoll(each)
        monitor = monitor.update(observed.faces, observed.shown_by)
        history.append(monitor.log_evidence)
    return DiceReport(monitor, tuple(history))
