"""Every kind of store, with a writer process and without: all keep one contract."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.log.conftest import KINDS, SCRIBES, open_kind
from tests.log.dictating import dictated

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from threedice.log.store import Store


@pytest.fixture(params=[*KINDS, *SCRIBES])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    if request.param in SCRIBES:
        with dictated(request.getfixturevalue(request.param)) as shared:
            yield shared
        return
    opened = open_kind(request.param, request, tmp_path)
    yield opened
    opened.close()
