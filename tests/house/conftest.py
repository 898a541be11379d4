"""A store for tests of a command handler by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from threedice.log.stores.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(tmp_path / "house.sqlite")
    yield store
    store.close()
