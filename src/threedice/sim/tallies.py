"""What has been counted so far, in whole numbers: parts of a simulation add up exactly.

A tally is named arrays and how many units of work they cover. Sums that may outgrow 64 bits are
arrays of Python's own integers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from threedice.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Mapping

Counts = Any
"""An array of whole numbers."""


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts over the first `units` units of a job, or over some of them."""

    units: int
    counts: Mapping[str, Counts]

    def __add__(self, other: Tally) -> Tally:
        both = {name: each + other.counts[name] for name, each in self.counts.items()}
        return Tally(self.units + other.units, both)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tally) or self.counts.keys() != other.counts.keys():
            return False
        same = all(np.array_equal(each, other.counts[name]) for name, each in self.counts.items())
        return same and self.units == other.units

    __hash__ = None  # type: ignore[assignment]


def whole(array: Counts) -> Counts:
    """Return an array of Python's own integers, which have no largest."""
    return array.astype(object)


def packed(tally: Tally) -> dict[str, Any]:
    """Return a tally as plain data: of each array its shape and what is not nothing."""
    return {
        "units": tally.units,
        "counts": {name: _packed(each) for name, each in tally.counts.items()},
    }


def _packed(array: Counts) -> dict[str, Any]:
    flat = array.ravel()
    places = [i for i, each in enumerate(flat.tolist()) if each]
    return {
        "shape": list(array.shape),
        "places": places,
        "values": [str(flat[i]) for i in places],
    }


def unpacked(data: Mapping[str, Any], like: Tally) -> Tally:
    """Return the tally that plain data holds, of the form of another."""
    counts = {}
    for name, blank in like.counts.items():
        kept = data["counts"][name]
        if kept["shape"] != list(blank.shape):
            raise InvalidInput(f"{name} has the shape {kept['shape']}, not {list(blank.shape)}")
        flat = blank.copy().ravel()
        for place, value in zip(kept["places"], kept["values"], strict=True):
            flat[place] = int(value)
        counts[name] = flat.reshape(blank.shape)
    return Tally(data["units"], counts)
