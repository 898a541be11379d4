"""Excess and pro rata at their edges: trimmed twice, just at the limit, nothing left to share."""

from __future__ import annotations

from typing import Literal

import pytest

from tests.table.test_rejections import rejected, table_with
from threedice.rulebook.conduct import ProRataRule
from threedice.table.settlement import apportion, apportion_by_rule, split_fixed_stakes


def test_a_placement_trimmed_twice_goes_back_whole_once_too_little_is_left_of_it() -> None:
    table = table_with(
        "ann 975 small", "bob 70 small", "ann 945 big", "cat 60 big", differential=10
    )

    assert rejected(table, "big", "small") == [
        ("cat", 4, 5, "maximum"),
        ("bob", 2, 70, "maximum"),
        ("cat", 4, 55, "differential"),
        ("ann", 1, 20, "differential"),
    ]


@pytest.mark.parametrize("method", ["floor", "absorb"])
def test_stakes_that_just_fill_the_limit_play_whole_though_chips_divide_them_not(
    method: Literal["floor", "absorb"],
) -> None:
    stakes = {"ann": 503, "bob": 497}

    assert apportion(method, stakes, 1000, 50, 5) == stakes


@pytest.mark.parametrize("exempt", [25, 30])
def test_nothing_is_left_to_share_once_exempt_stakes_fill_the_limit(exempt: int) -> None:
    rule = ProRataRule(
        method="absorb", round_to="smallest-chip", never_below_minimum=False,
        exempt_below_minimum=True, clause="1",
    )  # fmt: skip
    below = {f"p{i}": 40 for i in range(exempt)}

    assert apportion_by_rule(rule, {**below, "ann": 1000}, 1000, 50, 1) == {**below, "ann": 0}
    assert split_fixed_stakes({**below, "ann": 1000}, 1000, 0, 1, 50) == (below, 0, 1000)
