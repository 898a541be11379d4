"""The date from which a rulebook is in force."""

from __future__ import annotations

import pytest

from threedice.rulebook.effective import is_in_force, parse_effective


@pytest.mark.parametrize(
    ("effective", "moment", "expected"),
    [
        ("2023-10-06T08:00:00+08:00", "2023-10-05T23:59:59+00:00", False),
        ("2023-10-06T08:00:00+08:00", "2023-10-06T00:00:00+00:00", True),
        ("2023-10-06", "2023-10-05T23:59:59", False),
        ("2023-10-06", "2023-10-06", True),
        ("", "0001-01-01", True),
    ],
)
def test_rulebook_is_in_force_from_its_date_on_and_always_without_one(
    effective: str, moment: str, expected: bool
) -> None:
    assert is_in_force(effective, parse_effective(moment)) == expected
