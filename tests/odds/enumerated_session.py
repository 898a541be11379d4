"""An independent oracle for sessions: it enumerates every path of results and plays each out.

The plans are implemented over whole histories instead of states, so that they share no code with
`odds.sessions.plans`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

History = list[tuple[int, int, int]]
"""The stake due, the stake made and its net result, round by round."""


@dataclass(frozen=True)
class PathOutcome:
    """The outcome of a path: its ending, number of rounds and final bankroll."""

    ending: str
    rounds: int
    left: int


def stake_due(plan: str, history: History, base: int, maximum: int, line: list[int]) -> int:
    """Return the stake that a plan asks for after a history."""
    wanted = base
    if plan == "labouchere":
        return _labouchere(history, maximum, [base * each for each in line])
    if plan == "oscars-grind":
        return _oscars_grind(history, base, maximum)
    if plan == "fibonacci":
        return _fibonacci(history, base, maximum)
    streak = 0
    for was_due, _, net in history:
        if plan in ("martingale", "grand-martingale"):
            more = 2 * was_due + (base if plan.startswith("grand") else 0)
            wanted = base if net > 0 else min(more, maximum) if net < 0 else was_due
        elif plan == "dalembert" and net:
            wanted = min(was_due + base, maximum) if net < 0 else max(was_due - base, base)
        elif plan == "paroli" and net:
            streak = streak + 1 if net > 0 else 0
            streak = 0 if streak == 3 else streak
            wanted = min(base * 2**streak, maximum)
    return wanted


def _fibonacci(history: History, base: int, maximum: int) -> int:
    numbers = [base, base]
    while numbers[-1] < maximum:
        numbers.append(numbers[-1] + numbers[-2])
    last = next(i for i, each in enumerate(numbers) if each >= maximum)
    place = 0
    for _, _, net in history:
        if net < 0:
            place = min(place + 1, last)
        elif net > 0:
            place = max(place - 2, 0)
    return numbers[place]


def _oscars_grind(history: History, base: int, maximum: int) -> int:
    result, wanted = 0, base
    for was_due, _, net in history:
        result, wanted = result + net, was_due
        if result >= base:
            result, wanted = 0, base
        elif net > 0:
            wanted = was_due + base
            while result + wanted - base >= base:
                wanted -= base
            wanted = min(wanted, maximum)
    return wanted


def _labouchere(history: History, maximum: int, fresh: list[int]) -> int:
    line = list(fresh)
    for _, stake, net in history:
        if net > 0:
            line = line[1:-1]
        elif net < 0:
            line = [*line, stake]
            line = [] if len(line) > 64 else line
        line = line or list(fresh)
    ends = line if len(line) == 1 else [line[0], line[-1]]
    return min(sum(ends), maximum)


@dataclass(frozen=True)
class EnumeratedSession:
    """A session in plain numbers; `results` are nets of one step with their ways."""

    plan: str
    results: tuple[tuple[int, int], ...]
    step: int
    base: int
    bankroll: int
    rounds: int
    minimum: int
    maximum: int
    stop_loss: int | None = None
    stop_win: int | None = None
    line: tuple[int, ...] = (1, 2, 3, 4)

    def play(self, path: tuple[int, ...]) -> PathOutcome:
        """Play one path."""
        left, history = self.bankroll, History()
        for done, net in enumerate(path):
            stake = self._stake(history, left)
            brought = stake // self.step * net
            history.append((self._due(history), stake, brought))
            left += brought
            if not self._stake(history, left):
                return PathOutcome("ruined", done + 1, left)
            if self.stop_loss and self.bankroll - left >= self.stop_loss:
                return PathOutcome("stop-loss", done + 1, left)
            if self.stop_win and left - self.bankroll >= self.stop_win:
                return PathOutcome("stop-win", done + 1, left)
        return PathOutcome("played out", len(path), left)

    def _due(self, history: History) -> int:
        return stake_due(self.plan, history, self.base, self.maximum, list(self.line))

    def _stake(self, history: History, left: int) -> int:
        stake = min(self._due(history), self.maximum, left) // self.step * self.step
        return stake if stake >= max(self.minimum, 1) else 0

    def outcomes(self) -> dict[PathOutcome, Fraction]:
        """Return every outcome with its probability, over all paths of results."""
        whole = sum(ways for _, ways in self.results) ** self.rounds
        found: Counter[PathOutcome] = Counter()
        for path in product(self.results, repeat=self.rounds):
            ways = 1
            for _, n in path:
                ways *= n
            found[self.play(tuple(net for net, _ in path))] += ways
        return {outcome: Fraction(ways, whole) for outcome, ways in found.items()}
