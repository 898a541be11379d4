"""Every operation answers every role as recorded."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.contract import recordings, responses

RECORDED = recordings.read(responses.FILE)


@pytest.fixture(scope="module")
def current() -> dict[str, Any]:
    return asyncio.run(responses.survey())


@pytest.mark.parametrize("part", sorted(RECORDED))
def test_every_surveyed_request_is_recorded(current: dict[str, Any], part: str) -> None:
    assert sorted(current[part]) == sorted(RECORDED[part])


@pytest.mark.parametrize(
    ("part", "name"), [(part, name) for part in sorted(RECORDED) for name in RECORDED[part]]
)
def test_response_is_as_recorded(current: dict[str, Any], part: str, name: str) -> None:
    assert current[part][name] == RECORDED[part][name]
