"""Somebody who changes the database of a house without its program and its keys."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import psycopg
from msgspec.structs import astuple

from threedice.house.codec import encode
from threedice.log.entry import EMPTY_HEAD, Head, extend_stream, hash_cause
from threedice.log.records import EntrySpan, encode_spans

if TYPE_CHECKING:
    from threedice.house.events import AnyStreamEvent


class Intruder:
    """Somebody with write access to the database, and without the house's keys."""

    def __init__(self, url: str) -> None:
        self._url = url

    def execute(self, *statements: tuple[str, tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """Run statements in one transaction, and return the rows of the last."""
        if self._url.startswith("sqlite:///"):
            with closing(sqlite3.connect(self._url.removeprefix("sqlite:///"))) as file, file:
                for statement, params in statements:
                    rows = file.execute(statement, params).fetchall()
            return rows
        with psycopg.connect(self._url) as connection:
            for statement, params in statements:
                cursor = connection.execute(statement.replace("?", "%s"), params)
                rows = cursor.fetchall() if cursor.description else []
        return rows

    def head(self, stream: str) -> Head:
        sql = "SELECT version, hash FROM streams WHERE stream = ?"
        return next((Head(*row) for row in self.execute((sql, (stream,)))), EMPTY_HEAD)

    def append(self, stream: str, *events: AnyStreamEvent, key: str = "forged") -> Head:
        """Append events as the house does: with the right hashes, head and answer."""
        head, command = self.head(stream), b"c" * 32
        cause = hash_cause("eve", key, command)
        entries, new = extend_stream(head, stream, 2**50, cause, map(encode, events))
        spans = encode_spans([EntrySpan(stream, head.version + 1, new.version)])
        self.execute(
            *[
                (
                    "INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    astuple(each),
                )
                for each in entries
            ],
            (
                "INSERT INTO streams (stream, version, hash) VALUES (?, ?, ?) ON CONFLICT (stream)"
                " DO UPDATE SET version = excluded.version, hash = excluded.hash",
                (stream, new.version, new.hash),
            ),
            ("INSERT INTO answers VALUES (?, ?, ?, ?, ?)", ("eve", key, command, spans, b"")),
        )
        return new
