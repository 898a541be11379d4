"""The recorded definitions of PostgreSQL are those that the migrations make.

Write them anew with `python -m tests.db.test_definitions`, after adding a migration.
"""

from __future__ import annotations

import json
from contextlib import closing

import pytest

from tests.log.postgres_server import quick_folder, running
from threedice.db.postgres import connect_postgres, sql_runner
from threedice.db.postgres_definitions import (
    SELECT_DEFINITIONS,
    definitions_file,
    load_definitions,
    read_definitions,
)
from threedice.db.schema import load_migrations, prepare_tables
from threedice.log.stores.urls import open_store

MIGRATIONS = load_migrations("postgresql")


def migrated_definitions(url: str, version: int) -> str:
    """Return the text of the definitions of an empty database that is migrated to a version."""
    with closing(connect_postgres(url, 60)) as connection:
        run = sql_runner(connection)
        prepare_tables(
            run,
            dialect="postgresql",
            database="new",
            policy="migrate",
            migrations={each: MIGRATIONS[each] for each in range(1, version + 1)},
        )
        rows = sorted(run(SELECT_DEFINITIONS))
    return "[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n"


@pytest.mark.parametrize("version", MIGRATIONS)
def test_recorded_definitions_are_those_of_a_migrated_database(
    postgres_url: str, version: int
) -> None:
    recorded = definitions_file(version).read_text(encoding="utf-8")
    assert recorded == migrated_definitions(postgres_url, version)


def test_database_migrated_in_steps_has_the_recorded_definitions(postgres_url: str) -> None:
    for version in MIGRATIONS:
        migrated_definitions(postgres_url, version)
    open_store(postgres_url).close()

    with closing(connect_postgres(postgres_url, 60)) as connection:
        assert read_definitions(sql_runner(connection)) == load_definitions(max(MIGRATIONS))


if __name__ == "__main__":
    with running(parent=quick_folder()) as server:
        for number in MIGRATIONS:
            definitions_file(number).write_text(
                migrated_definitions(server.fresh(), number), encoding="utf-8"
            )
