"""Fixtures for tests of a house."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from threedice.house import house as house_module
from threedice.log.stores.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(tmp_path / "house.sqlite")
    yield store
    store.close()


@pytest.fixture
def fast_suspension_polls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let servers notice suspensions and releases of other servers at once."""
    monkeypatch.setattr(house_module, "SUSPENSION_POLL_SECONDS", 0.05)
