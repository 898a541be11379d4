"""The forms of URL that name a database."""

from __future__ import annotations

import re
from typing import Final

MEMORY_URL: Final = "memory:"
SQLITE_PREFIX: Final = "sqlite:///"
_SCHEME_PATTERN: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")


def is_postgres_url(url: str) -> bool:
    """Return whether a URL names a PostgreSQL database."""
    return url.startswith(("postgresql://", "postgres://"))


def find_sqlite_path(url: str) -> str | None:
    """Return the path of the SQLite file that a URL or a plain path names, if it names one.

    >>> find_sqlite_path("sqlite:///floor/house.sqlite"), find_sqlite_path("mysql://x/y")
    ('floor/house.sqlite', None)
    """
    path = url.removeprefix(SQLITE_PREFIX)
    if not path or path.endswith("/") or (path == url and _SCHEME_PATTERN.match(url)):
        return None
    return path
