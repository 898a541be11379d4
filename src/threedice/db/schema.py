"""Column types and table definitions that give SQLite and PostgreSQL the same tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import BigInteger, Column, Index, Integer, LargeBinary, Table, Text
from sqlalchemy.engine import make_url
from sqlalchemy.schema import CreateIndex, CreateTable

if TYPE_CHECKING:
    from sqlalchemy import MetaData

# The C collation compares text by its bytes, so that both databases sort it as Python does.
TEXT_TYPE = Text(collation="C").with_variant(Text(), "sqlite")
BYTES_TYPE = LargeBinary()
INTEGER_TYPE = BigInteger().with_variant(Integer(), "sqlite")


def define_table(name: str, metadata: MetaData, *columns: Column[Any] | Index) -> Table:
    """Define a table whose columns are all NOT NULL."""
    for column in columns:
        if isinstance(column, Column):
            column.nullable = False
    return Table(name, metadata, *columns)


def table_statements(metadata: MetaData, dialect: str) -> list[str]:
    """Return the statements that create all tables and indexes; SQLite tables are STRICT."""
    sql_dialect = make_url(f"{dialect}://").get_dialect()()
    strict = " STRICT" if dialect == "sqlite" else ""
    statements = []
    for table in metadata.sorted_tables:
        statements.append(str(CreateTable(table).compile(dialect=sql_dialect)).strip() + strict)
        indexes = sorted(table.indexes, key=lambda index: str(index.name))
        statements += [str(CreateIndex(index).compile(dialect=sql_dialect)) for index in indexes]
    return statements
