"""What becomes of a session: ruin and when, the final bankroll, and the fan of paths on the way.

`Reckoning` walks through the rounds and can be asked at any of them, so that a long one can be
shown as it goes, and stopped. `session_odds` goes to the end.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate
from math import fsum
from typing import TYPE_CHECKING, Final, Literal

from threedice.maths.notebook import html_bars, html_table
from threedice.maths.sessions import ENDINGS
from threedice.maths.states import MOST_STATES, lay_out
from threedice.maths.walks import ExactWalk, FloatWalk, Number, Walk

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from threedice.maths.sessions import Ending, Session
    from threedice.maths.states import States

Share = Fraction | float
"""A probability or a mean: a fraction where it is exact, a float where it is bounded."""

Method = Literal["exact", "float64", "simulated"]
Known = Literal["final", "rounds", "ahead", "level"]

BANDS: Final = tuple(Fraction(each, 100) for each in (1, 5, 25, 50, 75, 95, 99))
"""The quantiles of the bankroll that a fan shows."""
EXACT_WORK: Final = 60_000_000_000
"""The most work for exact counts unless they are asked for: about half a minute on one core.

Measured as arrows x rounds x (200 + rounds), the last factor for the growing numbers.
"""
_FAN: Final = 200


@dataclass(frozen=True)
class SessionOdds:
    """The result of a session after `rounds` rounds, all probabilities within `error`, relatively.

    `ended[kind][t]` is the probability of an ending in round t; "played out" are those still
    playing at the end. `final` is the bankroll with its probability, least first; `fan` holds for
    some rounds the bankroll at each quantile of `BANDS`. Where sessions were simulated instead,
    `sessions` says how many, `known` what they came to exactly, `tops` for a final bankroll that
    stands for several the greatest of them, and `intervals` what is 95 % sure of some figures.
    """

    session: Session
    rounds: int
    method: Method
    error: float
    ended: Mapping[Ending, tuple[Share, ...]]
    final: tuple[tuple[int, Share], ...]
    fan: tuple[tuple[int, tuple[int, ...]], ...]
    sessions: int = 0
    intervals: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    known: Mapping[Known, float] = field(default_factory=dict)
    tops: Mapping[int, int] = field(default_factory=dict)

    def chance(self, ending: Ending) -> Share:
        """Return the probability that the session ends like this."""
        return total(self.ended[ending])

    @property
    def ruin(self) -> Share:
        """The risk of ruin."""
        return self.chance("ruined")

    @property
    def mean_final(self) -> Share:
        """The expected final bankroll."""
        if "final" in self.known:
            return self.known["final"]
        return total(left * share for left, share in self.final)

    @property
    def mean_rounds(self) -> Share:
        """How many rounds are played, on average."""
        if "rounds" in self.known:
            return self.known["rounds"]
        return total(t * share for each in ENDINGS for t, share in enumerate(self.ended[each]))

    @property
    def mean_rounds_to_ruin(self) -> Share | None:
        """How many rounds those who are ruined last, on average."""
        ruin = self.ruin
        when = total(t * share for t, share in enumerate(self.ended["ruined"]))
        return when / ruin if ruin else None

    @property
    def ahead(self) -> Share:
        """The probability of leaving with more than was brought."""
        if "ahead" in self.known:
            return self.known["ahead"]
        return total(share for left, share in self.final if left > self.session.bankroll)

    @property
    def level(self) -> Share:
        """The probability of leaving with what was brought."""
        if "level" in self.known:
            return self.known["level"]
        return total(share for left, share in self.final if left == self.session.bankroll)

    def ruin_by_round(self) -> list[Share]:
        """Return the probability of having been ruined by each round, from none at the start."""
        return list(accumulate(self.ended["ruined"]))

    def quantile(self, share: Fraction) -> int:
        """Return the least final bankroll not exceeded with at least this probability.

        Where `tops` has it, it lies somewhere from there to the top.
        """
        return quantiles(dict(self.final), (share,))[0]

    def quantile_words(self, share: Fraction) -> str:
        """Return a quantile as it is told: an amount, or between which two it lies."""
        low = self.quantile(share)
        return f"{low:,} to {self.tops[low]:,}" if low in self.tops else f"{low:,}"

    def _repr_html_(self) -> str:
        plan, brought = self.session.plan, self.session.bankroll
        rows = [
            ("risk of ruin", f"{float(self.ruin):.12g}"),
            ("mean final bankroll", f"{float(self.mean_final):,.6f}"),
            ("leaves with more", f"{float(self.ahead):.12g}"),
            ("rounds played", f"{float(self.mean_rounds):,.4f}"),
        ]
        title = f"{plan.name} on {self.session.spread}, {self.rounds:,} rounds, {self.method}"
        nets = [(float(left - brought), float(share)) for left, share in self.final]
        return html_table(title, rows) + html_bars(nets)


def total(shares: Iterable[Share]) -> Share:
    """Return a sum: of fractions exactly, of floats with one rounding."""
    each = list(shares)
    return fsum(each) if any(isinstance(one, float) for one in each) else sum(each, Fraction(0))


def quantiles(
    weights: Mapping[int, Number | Fraction], shares: Iterable[Fraction]
) -> tuple[int, ...]:
    """Return the amounts not exceeded with at least these probabilities, which must rise."""
    ordered = sorted(weights)
    whole = sum(weights.values())
    found: list[int] = []
    place, so_far = 0, weights[ordered[0]]
    for share in shares:
        enough = share * whole
        while so_far < enough and place < len(ordered) - 1:
            place += 1
            so_far += weights[ordered[place]]
        found.append(ordered[place])
    return tuple(found)


class Reckoning:
    """A session under way: `advance` plays a round, `odds` tells how things stand."""

    def __init__(
        self, session: Session, states: States, method: Literal["exact", "float64"]
    ) -> None:
        self.session, self.states, self.method = session, states, method
        self.rounds = 0
        self._walk: Walk = (ExactWalk if method == "exact" else FloatWalk)(session, states)
        self._ended: list[dict[int, Number]] = [{}]
        self._gone: dict[int, Number] = {}
        self._scaled = 0
        self._fan: list[tuple[int, tuple[int, ...]]] = []
        self._every = -(-session.rounds // _FAN)
        self._spread()

    def advance(self) -> None:
        """Play one more round."""
        self.rounds += 1
        self._ended.append(self._walk.advance())
        if self.rounds % self._every == 0 or self.rounds == self.session.rounds:
            self._spread()

    def _spread(self) -> None:
        """Note the quantiles of the bankroll at this round, of those who left as well."""
        self._fan.append((self.rounds, quantiles(self._bankrolls(), BANDS)))

    def _bankrolls(self) -> dict[int, Number]:
        """Return the weight of every bankroll now, counting those who have left."""
        base, left = self._walk.base, self.states.left
        grown = base ** (self.rounds - self._scaled)
        self._gone = {each: weight * grown for each, weight in self._gone.items()}
        for when in range(self._scaled + 1, self.rounds + 1):
            grown = base ** (self.rounds - when)
            for place, weight in self._ended[when].items():
                self._gone[left[place]] = self._gone.get(left[place], 0) + weight * grown
        self._scaled = self.rounds
        sums = dict(self._gone)
        for each, weight in self._walk.standing().items():
            sums[each] = sums.get(each, 0) + weight
        return sums

    def odds(self) -> SessionOdds:
        """Return the result as if this round were the last."""
        final = self._bankrolls()
        return SessionOdds(
            self.session,
            self.rounds,
            self.method,
            self._walk.error(self.rounds),
            {each: self._endings(each) for each in ENDINGS},
            tuple((left, self._share(final[left], self.rounds)) for left in sorted(final)),
            tuple(self._fan),
        )

    def _endings(self, kind: Ending) -> tuple[Share, ...]:
        if kind == "played out":
            still = sum(self._walk.standing().values())
            return *[self._share(0, 0)] * self.rounds, self._share(still, self.rounds)
        ending = self.states.ending
        return tuple(
            self._share(sum(n for place, n in ended.items() if ending[place] == kind), when)
            for when, ended in enumerate(self._ended)
        )

    def _share(self, weight: Number, rounds: int) -> Share:
        if self.method == "exact":
            return Fraction(int(weight), self._walk.base**rounds)
        return float(weight)


def begin(
    session: Session,
    method: Literal["exact", "float64"] | None = None,
    most_states: int = MOST_STATES,
) -> Reckoning:
    """Lay a session out and make ready to count it, exactly where that is about half a minute.

    A session with more states than can be laid out is `Infeasible`; simulate it.
    """
    states = lay_out(session, most_states)
    if method is None:
        method = "exact" if work(session, states) <= EXACT_WORK else "float64"
    return Reckoning(session, states, method)


def work(session: Session, states: States) -> int:
    """Return how much work exact counts are, in the unit of `EXACT_WORK`."""
    return states.size * session.rounds * (200 + session.rounds)


def session_odds(
    session: Session, method: Literal["exact", "float64"] | None = None
) -> SessionOdds:
    """Return what becomes of a session.

    >>> from threedice.maths.plans import Plan
    >>> from threedice.maths.sessions import Session
    >>> from threedice.maths.spread import spread
    >>> from threedice.rulebook import load
    >>> big = spread(load("sg-rws-tai-sai-v6/a"), {"big": 1})
    >>> odds = session_odds(Session(big, Plan("martingale", 10, 500), 1000, 200))
    >>> f"{float(odds.ruin):.15f} {float(odds.mean_final):.7f}"
    '0.469143625154827 855.0484019'
    """
    reckoning = begin(session, method)
    for _ in range(session.rounds):
        reckoning.advance()
    return reckoning.odds()
