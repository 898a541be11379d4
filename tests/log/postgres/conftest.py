"""Fixtures: a serving store in PostgreSQL, and an administrator's connection."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg
import pytest

from threedice.log.stores.postgres import PostgresStore

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def store(postgres_url: str) -> Iterator[PostgresStore]:
    opened = PostgresStore(postgres_url, serving=True)
    yield opened
    opened.close()


@pytest.fixture
def admin(postgres_url: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        yield connection
