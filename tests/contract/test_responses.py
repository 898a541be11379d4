"""Every operation answers every role as recorded."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.contract import files, responses

RECORDED = files.read(responses.FILE)


@pytest.fixture(scope="module")
def current() -> dict[str, Any]:
    return asyncio.run(responses.survey())


@pytest.mark.parametrize("part", sorted(RECORDED))
def test_the_same_requests_are_recorded(current: dict[str, Any], part: str) -> None:
    assert sorted(current[part]) == sorted(RECORDED[part])


@pytest.mark.parametrize(
    ("part", "name"), [(part, name) for part in sorted(RECORDED) for name in RECORDED[part]]
)
def test_answers_are_unchanged(current: dict[str, Any], part: str, name: str) -> None:
    assert current[part][name] == RECORDED[part][name]
