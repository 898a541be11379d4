"""Live messages, close codes, metrics and journal lines are as recorded."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.contract import adapter, live, recordings

RECORDED = recordings.read(live.LIVE)
RECORDED_JOURNAL = recordings.read(live.JOURNAL)


@pytest.fixture(scope="module")
def current() -> dict[str, Any]:
    return asyncio.run(live.survey())


@pytest.mark.parametrize("audience", sorted(RECORDED["messages"]))
@pytest.mark.parametrize("message", ["hello", "events", "pong", "refused", "resumed"])
def test_live_message_is_as_recorded(current: dict[str, Any], audience: str, message: str) -> None:
    assert current["messages"][audience][message] == RECORDED["messages"][audience][message]


@pytest.mark.parametrize("part", sorted(RECORDED.keys() - {"messages"}))
def test_live_protocol_is_as_recorded(current: dict[str, Any], part: str) -> None:
    assert current[part] == RECORDED[part]


def test_journal_lines_have_the_recorded_keys() -> None:
    assert adapter.journal_lines() == RECORDED_JOURNAL["lines"]


def test_journal_words_and_their_facts_are_as_recorded() -> None:
    assert live.journal_words() == RECORDED_JOURNAL["words"]
