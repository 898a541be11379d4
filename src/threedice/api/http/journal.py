"""Structured log: one line on standard error per notable event.

Lines are JSON, or plain text on a terminal. They contain ids, codes and figures, but no secrets,
no names and no addresses; of an exception only its type and where it was raised, never its message.
Lines that strangers can cause at will are limited in rate, and the omitted ones are counted.
"""

from __future__ import annotations

import logging
import sys
from collections import Counter
from contextlib import nullcontext
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import PurePath
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, TextIO

import msgspec

from threedice.api.http.limits import RateLimiter

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

REQUEST_ID: ContextVar[str] = ContextVar("request", default="")
"""The id of the current request."""

_LOGGER: Final = logging.getLogger("threedice")

_DEFECT_ATTRIBUTES: Final = ("kind", "place")
"""Attributes of a record that become fields of its line, if a logger sets them."""

QUIET_LOGGERS: Final = ("uvicorn", "uvicorn.error", "uvicorn.access", "litestar", "asyncio")
"""Loggers of libraries, of which only warnings and errors are written."""

MALFORMED_REQUEST_MESSAGES: Final = frozenset(
    {"Invalid HTTP request received.", "Unsupported upgrade request."}
)
"""uvicorn's messages about requests that it cannot parse: anybody can cause them at any rate."""

MALFORMED_REQUESTS_PER_SECOND: Final = 1.0
"""Rate limit for each of these messages."""


def write(what: str, **facts: object) -> None:
    """Log a notable event."""
    _LOGGER.info(what, extra={"facts": facts})


def warn(what: str, error: BaseException | None = None, **facts: object) -> None:
    """Log an event that an operator should look into."""
    _LOGGER.warning(what, extra={"facts": facts}, exc_info=error)


def open_journal(
    stream: TextIO | None = None,
    *,
    plain: bool | None = None,
    clock: Callable[[], float] = monotonic,
) -> logging.Handler:
    """Direct all logging to a stream; return the handler, for `close_journal`.

    By default lines are plain text on a terminal and JSON elsewhere. `clock` returns the seconds
    by which rates are limited.
    """
    stream = stream or sys.stderr
    handler = JournalHandler(stream, clock)
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


class JournalHandler(logging.StreamHandler[TextIO]):
    """Writes records to a stream, those about malformed requests at a limited rate only.

    The next line, of whatever kind, is preceded by the number of lines that were suppressed.
    """

    def __init__(self, stream: TextIO, clock: Callable[[], float]) -> None:
        super().__init__(stream)
        self._limiter = RateLimiter(MALFORMED_REQUESTS_PER_SECOND, clock)
        self._suppressed: Counter[str] = Counter()

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record, or count it if there were too many of its kind."""
        if _is_malformed_request(record) and self._limiter.take(record.msg):
            self._suppressed[record.msg] += 1
            return
        self._write_suppressed()
        super().emit(record)

    def close(self) -> None:
        """Write how many lines were suppressed since the last line."""
        with self.lock or nullcontext():
            self._write_suppressed()
        super().close()

    def _write_suppressed(self) -> None:
        """Write a line per kind of suppressed lines; it belongs to no request."""
        request_id = REQUEST_ID.set("")
        for message, lines in self._suppressed.items():
            super().emit(_suppression_record(message, lines))
        REQUEST_ID.reset(request_id)
        self._suppressed.clear()


def _is_malformed_request(record: logging.LogRecord) -> bool:
    return record.name == "uvicorn.error" and record.msg in MALFORMED_REQUEST_MESSAGES


def _suppression_record(message: str, lines: int) -> logging.LogRecord:
    return _LOGGER.makeRecord(
        _LOGGER.name,
        logging.WARNING,
        fn="",
        lno=0,
        msg="lines-suppressed",
        args=(),
        exc_info=None,
        extra={"facts": {"message": message, "lines": lines}},
    )


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
