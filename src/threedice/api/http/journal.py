"""Structured log: one line on standard error per notable event.

Lines are JSON, or plain text on a terminal. They contain ids, codes and figures, but no secrets,
no names and no addresses; of an exception only its type and where it was raised, never its message.
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
"""The id of the current request."""

_LOGGER: Final = logging.getLogger("threedice")

_DEFECT_ATTRIBUTES: Final = ("kind", "place")
"""Attributes of a record that become fields of its line, if a logger sets them."""

QUIET_LOGGERS: Final = ("uvicorn", "uvicorn.error", "uvicorn.access", "litestar", "asyncio")
"""Loggers of libraries, of which only warnings and errors are written."""


def write(what: str, **facts: object) -> None:
    """Log a notable event."""
    _LOGGER.info(what, extra={"facts": facts})


def warn(what: str, error: BaseException | None = None, **facts: object) -> None:
    """Log an event that an operator should look into."""
    _LOGGER.warning(what, extra={"facts": facts}, exc_info=error)


def open_journal(stream: TextIO | None = None, *, plain: bool | None = None) -> logging.Handler:
    """Direct all logging to a stream; return the handler, for `close_journal`.

    By default lines are plain text on a terminal and JSON elsewhere.
    """
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
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.propagate = True
        logger.setLevel(logging.WARNING)
    return handler


def close_journal(handler: logging.Handler) -> None:
    """Remove and close a handler that `open_journal` returned."""
    logging.getLogger().removeHandler(handler)
    handler.close()


class JsonFormatter(logging.Formatter):
    """Formats records as one JSON object per line."""

    def format(self, record: logging.LogRecord) -> str:
        """Format a record as a line."""
        return msgspec.json.encode(_record_fields(record)).decode()


class TextFormatter(logging.Formatter):
    """Formats records as plain text for a person at a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        """Format a record as a line."""
        fields = _record_fields(record)
        time, what = str(fields.pop("at"))[11:19], fields.pop("what")
        level = str(fields.pop("level"))
        prefix = "" if level == "info" else f"{level}: "
        return " ".join(
            [time, f"{prefix}{what}", *(f"{key}={value}" for key, value in fields.items())]
        )


def _record_fields(record: logging.LogRecord) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
        "level": record.levelname.lower(),
        "what": " ".join(record.getMessage().split()),
    }
    if record.name != _LOGGER.name:
        fields["by"] = record.name
    if request_id := REQUEST_ID.get():
        fields["request"] = request_id
    fields.update(
        {name: getattr(record, name) for name in _DEFECT_ATTRIBUTES if hasattr(record, name)}
    )
    fields.update(getattr(record, "facts", {}))
    if record.exc_info and record.exc_info[0] is not None:
        fields["error"] = record.exc_info[0].__name__
        fields["where"] = _error_location(record.exc_info[2])
    return fields


def _error_location(trace: TracebackType | None) -> str:
    """Return the innermost frame of a traceback as `file:line function`."""
    location = ""
    while trace is not None:
        code = trace.tb_frame.f_code
        location = f"{PurePath(code.co_filename).name}:{trace.tb_lineno} {code.co_name}"
        trace = trace.tb_next
    return location
