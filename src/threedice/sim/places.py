"""Where an amount is counted: small ones each by itself, large ones to so many significant bits.

A bankroll may end anywhere from nothing to two thousand million, and what is asked about it is
asked of amounts near what was brought. So every amount below 2^(fine + 1) has a place of its own,
and from there on each doubling has 2^fine places: what is not known exactly is known to one part in
2^fine. `place_of` is compiled into the kernels; the others read their counts.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from numpy import int64

from threedice.sim.generator import lesser

Counts = Any
"""An array of whole numbers."""


class Counted(NamedTuple):
    """How often amounts from `low` to `high` came; the two are the same where it is known."""

    low: int
    high: int
    times: int


def place_of(amount: Any, fine: Any, places: int) -> Any:
    """Return the place of an amount that is not negative; the last takes all beyond it.

    >>> [int(place_of(each, 2, 100)) for each in (0, 7, 8, 9, 10, 15, 16, 19, 20)]
    [0, 7, 8, 8, 9, 11, 12, 12, 13]
    """
    number, bits = int64(amount), int64(fine)
    above, shift, step = number >> bits, int64(0), int64(16)
    if above > 1:
        while step > 0:  # how often it can be halved; not every device counts bits alike
            if above >> step > 0:
                above, shift = above >> step, shift + step
            step = step >> int64(1)
    return lesser((shift << bits) + (number >> shift), int64(places - 1))


def net_place_of(net: Any, fine: Any, middle: int) -> Any:
    """Return the place of a gain or a loss around `middle`, where nothing was won or lost.

    >>> [int(net_place_of(each, 2, 50)) for each in (-9, -8, -1, 0, 1, 9)]
    [42, 42, 49, 50, 51, 58]
    """
    if net < 0:
        return int64(middle) - place_of(-net, fine, middle + 1)
    return int64(middle) + place_of(net, fine, middle + 1)


def span_of(place: int, fine: int) -> tuple[int, int]:
    """Return the amounts that are counted at a place, the least and the most.

    >>> span_of(7, 2), span_of(11, 2), span_of(12, 2)
    ((7, 7), (14, 15), (16, 19))
    """
    shift = max((place >> fine) - 1, 0)
    low = (place - (shift << fine)) << shift
    return low, low + (1 << shift) - 1


def fine_for(most: int, places: int) -> int:
    """Return how finely amounts up to the most can be counted in so many places."""
    return next(fine for fine in range(30, -1, -1) if int(place_of(most, fine, 2**62)) < places)


def counted(counts: Counts, fine: int, grain: int = 1) -> tuple[Counted, ...]:
    """Return the amounts that were counted at all, least first."""
    (places,) = counts.nonzero()
    spans = ((*span_of(int(place), fine), int(counts[place])) for place in places)
    return tuple(Counted(low * grain, high * grain, count) for low, high, count in spans)


def nets_counted(counts: Counts, fine: int) -> tuple[Counted, ...]:
    """Return the gains and losses that were counted at all, the greatest loss first."""
    middle = len(counts) // 2
    losses = counted(counts[middle:0:-1], fine)
    turned = (Counted(-high, -low, count) for low, high, count in reversed(losses) if high)
    return (*turned, *counted(counts[middle:], fine))
