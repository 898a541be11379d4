"""Powers of a polynomial in integers, by J.C.P. Miller's recurrence.

With `a` the counts of one round and `c` those of n rounds, `a c' = n a' c` gives

    c[m] = sum over k of ((n + 1) k - m) a[k] c[m - k] / (m a[0])

whose division is exact. A coefficient needs only the `degree` coefficients before it, so they can
be had one after the other without holding all of them. In floats the recurrence diverges; it is for
integers alone.
"""

from __future__ import annotations

from operator import itemgetter, mul, sub
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


def power(ways: Sequence[tuple[int, int]], n: int) -> Iterator[int]:
    """Yield the coefficients of a polynomial's n-th power, lowest first.

    The polynomial is given as (exponent, coefficient) pairs, rising from exponent nought.

    >>> list(power([(0, 1), (1, 1)], 4)), list(power([(0, 2), (2, 3)], 2))
    ([1, 4, 6, 4, 1], [4, 0, 12, 0, 9])
    """
    (_, first), *rest = ways
    latest = first**n
    yield latest
    if not rest:
        return
    degree, steps = rest[-1][0], [a for _, a in rest]
    pick = _picking([-k for k, _ in rest])
    window = [0] * degree + [latest]
    weights = [(n + 1) * k * a for k, a in rest]
    for m in range(1, n * degree + 1):
        weights = list(map(sub, weights, steps))
        latest = sum(map(mul, weights, pick(window))) // (m * first)
        yield latest
        window.append(latest)
        if len(window) > 4 * degree + 1000:
            del window[:-degree]


def _picking(places: list[int]) -> Callable[[list[int]], Sequence[int]]:
    """Return a function that takes the given places out of a list, always as a sequence."""
    if len(places) > 1:
        return itemgetter(*places)
    (only,) = places
    return lambda window: (window[only],)
