"""Structured log: one JSON line on standard error per notable event.

The server's journal: one line on standard error for every notable thing.

JSON for programs, plain words where somebody looks. Lines hold ids, codes and figures: no secret,
no name, no address, and of an error what it was and where, never what it was about.
"""

from __future__ import annotations

import logging
import sys
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final, TextIO

import msgspec

if TYPE_CHECKING:
    from types import TracebackType


REQUEST_ID: ContextVar[str] = ContextVar("request", default="")
"""The id of the request that is being answered."""


_LOGGER: Final = logging.getLogger("threedice")


_DEFECT_ATTRIBUTES: Final = ("kind", "place")
"""What is said of a defect beside its line."""


QUIET_LOGGERS: Final = ("uvicorn", "uvicorn.error", "uvicorn.access", "litestar", "asyncio")


def write(what: str, **facts: object) -> None:
    """Write a line about something notable."""
    _LOGGER.info(what, extra={"facts": facts})


def warn(what: str, error: BaseException | None = None, **facts: object) -> None:
    """Write a line about something that somebody should look at."""
    _LOGGER.warning(what, extra={"facts": facts}, exc_info=error)


def open_journal(stream: TextIO | None = None, *, plain: bool | None = None) -> logging.Handler:
    """Have everything that is logged come here; returns what `close_journal` takes."""
    stream = stream or sys.stderr
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        TextFormatter() if (stream.isatty() if plain is None else plain) else JsonFormatter()
    )
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    _LOGGER.setLevel(logging.INFO)
    for name in QUIET_LOGGERS:
        quiet = logging.getLogger(name)
        quiet.handlers.clear()
        quiet.propagate = True
        quiet.setLevel(logging.WARNING)
    return handler


def close_journal(handler: logging.Handler) -> None:
    """Log nothing more here."""
    logging.getLogger().removeHandler(handler)
    handler.close()


class JsonFormatter(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as a line."""
        return msgspec.json.encode(_record_facts(record)).decode()


class TextFormatter(logging.Formatter):
    """Words, for a person at a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as a line."""
        facts = _record_facts(record)
        at, what = str(facts.pop("at"))[11:19], facts.pop("what")
        level = str(facts.pop("level"))
        mark = "" if level == "info" else f"{level}: "
        return " ".join([at, f"{mark}{what}", *(f"{key}={value}" for key, value in facts.items())])


def _record_facts(record: logging.LogRecord) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
        "level": record.levelname.lower(),
        "what": " ".join(record.getMessage().split()),
    }
    if record.name != _LOGGER.name:
        facts["by"] = record.name
    if request := REQUEST_ID.get():
        facts["request"] = request
    facts.update(
        {name: getattr(record, name) for name in _DEFECT_ATTRIBUTES if hasattr(record, name)}
    )
    facts.update(getattr(record, "facts", {}))
    if record.exc_info and record.exc_info[0] is not None:
        facts["error"] = record.exc_info[0].__name__
        facts["where"] = _error_location(record.exc_info[2])
    return facts


def _error_location(trace: TracebackType | None) -> str:
    """Return where an error was raised: the innermost place, and no words of it."""
    place = ""
    while trace is not None:
        code = trace.tb_frame.f_code
        place = f"{PurePath(code.co_filename).name}:{trace.tb_lineno} {code.co_name}"
        trace = trace.tb_next
    return place
