"""Write Parquet files in row groups, so that memory stays bounded, and only complete files.

A file is written under a temporary name beside its own and renamed at the end. A file that exists
is never replaced.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyarrow import parquet

from threedice import __version__
from threedice.errors import InvalidInput
from threedice.version import build_id

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

ROWS_PER_GROUP: Final = 2**17
"""The rows that are buffered before they are written; a row group of a log has as many."""
METADATA_KEY: Final = b"threedice"
"""The key of the schema's metadata under which Threedice describes a file, as JSON."""


@contextmanager
def new_path(target: Path) -> Iterator[Path]:
    """Provide a path to write a file or a folder at, and rename it to the target at the end."""
    if target.exists() or target.is_symlink():
        raise InvalidInput(f"{target} exists already; name a new one")
    try:
        folder = Path(mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    except OSError as error:
        raise InvalidInput(f"cannot write {target}: {error.strerror}") from None
    try:
        yield folder / target.name
        (folder / target.name).rename(target)
    finally:
        rmtree(folder)


def describe_schema(fields: Sequence[tuple[str, Any, str]], about: Mapping[str, Any]) -> Any:
    """Return a schema of (name, type, description) fields, with a description of the file."""
    columns = [
        pa.field(name, kind, nullable=False, metadata={"description": text})
        for name, kind, text in fields
    ]
    note = json.dumps({"version": __version__, "build": build_id(), **about}, ensure_ascii=False)
    return pa.schema(columns, metadata={METADATA_KEY: note.encode()})


def read_description(file: Path) -> dict[str, Any]:
    """Return what Threedice wrote about a file: its kind, game, bets, seed and version."""
    described: dict[str, Any] = json.loads(parquet.read_schema(file).metadata[METADATA_KEY])
    return described


class RowWriter:
    """A Parquet file that takes rows one by one, and writes them in groups."""

    def __init__(self, file: Path, schema: Any) -> None:
        self._schema = schema
        self._writer = open_writer(file, schema)
        self._rows: list[tuple[Any, ...]] = []
        self.count = 0

    def add(self, row: tuple[Any, ...]) -> None:
        """Add a row with a value for each column."""
        self._rows.append(row)
        self.count += 1
        if len(self._rows) >= ROWS_PER_GROUP:
            self._flush()

    def _flush(self) -> None:
        columns = zip(*self._rows, strict=True)
        arrays = [
            pa.array(column, field.type)
            for column, field in zip(columns, self._schema, strict=True)
        ]
        self._writer.write_table(pa.Table.from_arrays(arrays, schema=self._schema))
        self._rows.clear()

    def close(self) -> None:
        """Write the last rows and the footer."""
        if self._rows:
            self._flush()
        self._writer.close()


def open_writer(file: Path, schema: Any) -> Any:
    """Return a Parquet writer with the compression of all our files."""
    return parquet.ParquetWriter(file, schema, compression="zstd")
