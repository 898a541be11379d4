"""The definitions in a PostgreSQL database: tables, indexes, triggers, functions and the like.

`migrations/0002.postgresql.json` holds those that the migrations make up to version 2.
`python -m tests.db.test_definitions` writes these files, and a test compares them with migrated
databases.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from threedice.db.schema import MIGRATIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from threedice.db import SqlRunner
    from threedice.db.schema import Definitions


def definitions_file(version: int) -> Path:
    """Return the path of the definitions of a version."""
    return MIGRATIONS / f"{version:04}.postgresql.json"


def load_definitions(version: int) -> Definitions:
    """Return the definitions that the migrations make up to a version."""
    return _by_name(json.loads(definitions_file(version).read_text(encoding="utf-8")))


def read_definitions(run: SqlRunner) -> Definitions:
    """Return the definitions in the current schema of a database, without those of extensions."""
    return _by_name(run(SELECT_DEFINITIONS))


def _by_name(rows: Iterable[Sequence[str]]) -> Definitions:
    return {(name, kind): (table, definition) for kind, name, table, definition in rows}


# Each SELECT returns the kind, the name, the table and the definition. Settings that only concern
# speed and storage, such as table spaces, are the operator's. The order of columns has no effect.

_COLUMNS: Final = """
    SELECT string_agg(
        concat_ws(' ', attname, format_type(atttypid, atttypmod),
            CASE WHEN attcollation <> 0 THEN 'COLLATE ' || attcollation::regcollation END,
            CASE WHEN attnotnull THEN 'NOT NULL' END,
            CASE WHEN attidentity <> '' THEN 'IDENTITY ' || attidentity::text END,
            CASE WHEN attgenerated <> '' THEN 'GENERATED ' || attgenerated::text END,
            'DEFAULT ' || (SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef
                WHERE adrelid = attrelid AND adnum = attnum)),
        ', ' ORDER BY attname COLLATE "C")
    FROM pg_attribute WHERE attrelid = pg_class.oid AND attnum > 0 AND NOT attisdropped"""

_CONSTRAINTS: Final = """
    SELECT string_agg(
        concat_ws(' ', conname, pg_get_constraintdef(oid, true),
            CASE WHEN NOT convalidated THEN 'NOT VALIDATED' END),
        ', ' ORDER BY conname COLLATE "C")
    FROM pg_constraint WHERE conrelid = pg_class.oid AND contype <> 'n'"""  # n: see the columns

_RELATIONS: Final = f"""
    SELECT CASE relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' WHEN 'S' THEN 'sequence'
            WHEN 'm' THEN 'materialized view' WHEN 'f' THEN 'foreign table'
            WHEN 'p' THEN 'partitioned table' ELSE 'type' END,
        relname::text, relname::text,
        concat_ws('; ', ({_COLUMNS}), ({_CONSTRAINTS}),
            CASE WHEN relpersistence <> 'p' THEN 'persistence ' || relpersistence::text END,
            CASE WHEN relrowsecurity OR relforcerowsecurity THEN 'row security' END,
            CASE WHEN EXISTS (SELECT FROM pg_inherits WHERE pg_class.oid IN (inhrelid, inhparent))
                THEN 'inheritance' END)
    FROM pg_class
    WHERE relnamespace = current_schema()::regnamespace AND relkind NOT IN ('i', 'I', 't')
        AND NOT EXISTS (SELECT FROM pg_depend
            WHERE classid = 'pg_class'::regclass AND objid = pg_class.oid AND deptype = 'e')"""

_INDEXES: Final = """
    SELECT 'index', indexes.relname::text, pg_class.relname::text,
        concat_ws('; ', pg_get_indexdef(indexrelid, 0, true),
            CASE WHEN NOT (indisvalid AND indisready AND indislive) THEN 'invalid' END)
    FROM pg_index JOIN pg_class ON pg_class.oid = indrelid
        JOIN pg_class AS indexes ON indexes.oid = indexrelid
    WHERE pg_class.relnamespace = current_schema()::regnamespace AND pg_class.relkind <> 't'"""

_TRIGGERS: Final = """
    SELECT 'trigger', tgname || ' on ' || relname, relname::text,
        concat_ws('; ', pg_get_triggerdef(pg_trigger.oid, true), 'enabled ' || tgenabled::text)
    FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
    WHERE relnamespace = current_schema()::regnamespace"""

_RULES: Final = """
    SELECT 'rule', rulename || ' on ' || relname, relname::text, ''
    FROM pg_rewrite JOIN pg_class ON pg_class.oid = ev_class
    WHERE relnamespace = current_schema()::regnamespace AND relkind NOT IN ('v', 'm')"""

_POLICIES: Final = """
    SELECT 'policy', polname || ' on ' || relname, relname::text, ''
    FROM pg_policy JOIN pg_class ON pg_class.oid = polrelid
    WHERE relnamespace = current_schema()::regnamespace"""

# The table of a function is its own name, so that those about people can be told apart.
_FUNCTIONS: Final = """
    SELECT 'function', proname || '(' || pg_get_function_identity_arguments(pg_proc.oid) || ')',
        proname::text,
        concat_ws('; ', pg_get_function_result(pg_proc.oid), lanname, provolatile::text,
            CASE WHEN prosecdef THEN 'SECURITY DEFINER' END,
            'SET ' || array_to_string(proconfig, ', '), probin, prosrc)
    FROM pg_proc JOIN pg_language ON pg_language.oid = prolang
    WHERE pronamespace = current_schema()::regnamespace
        AND NOT EXISTS (SELECT FROM pg_depend
            WHERE classid = 'pg_proc'::regclass AND objid = pg_proc.oid AND deptype = 'e')"""

_OPERATORS: Final = """
    SELECT 'operator', pg_operator.oid::regoperator::text, '', ''
    FROM pg_operator WHERE oprnamespace = current_schema()::regnamespace
        AND NOT EXISTS (SELECT FROM pg_depend
            WHERE classid = 'pg_operator'::regclass AND objid = pg_operator.oid
                AND deptype = 'e')"""

_TYPES: Final = """
    SELECT 'type', typname::text, '', ''
    FROM pg_type WHERE typnamespace = current_schema()::regnamespace AND typtype IN ('d', 'e', 'r')
        AND NOT EXISTS (SELECT FROM pg_depend
            WHERE classid = 'pg_type'::regclass AND objid = pg_type.oid AND deptype = 'e')"""

_EVENT_TRIGGERS: Final = "SELECT 'event trigger', evtname::text, '', '' FROM pg_event_trigger"

SELECT_DEFINITIONS: Final = " UNION ALL ".join(
    (
        *(_RELATIONS, _INDEXES, _TRIGGERS, _RULES, _POLICIES),
        *(_FUNCTIONS, _OPERATORS, _TYPES, _EVENT_TRIGGERS),
    )
)
