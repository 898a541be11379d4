"""Lines of a case that state amounts, room and flags."""

from __future__ import annotations

import pytest

from threedice.cases.runner import Case, run_case


def differences(*lines: str) -> list[str]:
    case = Case(
        "c", "sg-rws-tai-sai-v6 5.1", "sg-rws-tai-sai-v6/a", list(lines), players={"ann": 500}
    )
    return run_case(case).differences


@pytest.mark.parametrize(
    ("line", "difference"),
    [
        ("ann has 400", "ann has 500, expected 400"),
        ("bob has 5", "bob has 0, expected 5"),
        ("the float is 5", "the float is 999500, expected 5"),
        ("the drop is 5", "the drop is 500, expected 5"),
        ("ann has room for 5 on big", "ann has room on big for 10000, expected 5"),
        ("flags: big over the maximum", "flags: none, expected big over the maximum"),
    ],
)
def test_false_statement_is_a_difference_and_the_case_continues(line: str, difference: str) -> None:
    assert differences("open betting", line, "ann has 1") == [difference, "ann has 500, expected 1"]


def test_table_before_its_first_round_has_no_room_and_no_flags() -> None:
    assert differences("ann has room for 0 on big", "flags: none") == []
