"""Fixture: an empty PostgreSQL database."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.log.postgres_server import PostgresServer


@pytest.fixture
def postgres_url(postgres: PostgresServer) -> str:
    return postgres.fresh()
