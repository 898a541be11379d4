"""Structured log: one line on standard error per notable event.

Lines are JSON, or plain text on a terminal. They contain ids, codes and figures, but no secrets,
no names and no addresses; of an exception only its type and where it was raised, never its message.
Lines that a client may cause at will, which are all but those about the house, are limited in rate
by kind, and the omitted ones are counted.
"""

from __future__ import annotations

import logging
import sys
from collections import Counter
from contextlib import nullcontext
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import PurePath
from traceback import walk_tb
from typing import TYPE_CHECKING, Any, Final, TextIO

import msgspec

from threedice.api.http.limits import RateLimiter
from threedice.runtime import SYSTEM_RUNTIME

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

LINES_PER_SECOND: Final = 0.1
LINES_AT_ONCE: Final = 3
"""Limits for lines of the same kind: a few at once, and then six per minute."""


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
    clock: Callable[[], float] = SYSTEM_RUNTIME.monotonic,
) -> logging.Handler:
    """Direct all logging to a stream; return the handler, for `close_journal`.

    By default lines are plain text on a terminal and JSON elsewhere. `clock` returns the seconds
    by which rates are limited.
    """
    stream = stream or sys.stderr
    handler = JournalHandler(stream, clock)
    formatter = JournalFormatter(plain=stream.isatty() if plain is None else plain)
    handler.setFormatter(formatter)
    if logging.lastResort:  # for what libraries log after `close_journal`
        logging.lastResort.setFormatter(formatter)
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
    """Writes records to a stream, errors and the records of libraries at a limited rate only.

    uvicorn for example warns of each malformed request. The next line, of whatever kind, is
    preceded by the number of lines that were suppressed.
    """

    def __init__(self, stream: TextIO, clock: Callable[[], float]) -> None:
        super().__init__(stream)
        self._limiter = RateLimiter(LINES_PER_SECOND, clock, burst=LINES_AT_ONCE)
        self._suppressed: Counter[str] = Counter()

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record, or count it if there were too many of its kind."""
        kind = _limited_kind(record)
        if kind and self._limiter.take(kind):
            self._suppressed[str(record.msg).strip().partition("\n")[0]] += 1
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
            facts = {"message": message, "lines": lines}
            warning = {"name": _LOGGER.name, "levelname": "WARNING", "msg": "lines-suppressed"}
            super().emit(logging.makeLogRecord({**warning, "facts": facts}))
        REQUEST_ID.reset(request_id)
        self._suppressed.clear()


def _limited_kind(record: logging.LogRecord) -> str:
    """Return the kind by which a record is limited, or '' for one about the house.

    Records of a library are of one kind if the same statement logs them, whatever they contain;
    errors if they were raised in the same place.
    """
    error_type, _, trace = record.exc_info or (None, None, None)
    error = f"{error_type.__name__} {_error_location(trace)}" if error_type else ""
    if record.name == _LOGGER.name:
        return error and f"{record.msg} {error}"
    return f"{record.pathname}:{record.lineno} {error}"


class JournalFormatter(logging.Formatter):
    """Formats records as JSON, or as plain text for a person at a terminal; one line each."""

    def __init__(self, *, plain: bool) -> None:
        super().__init__()
        self._plain = plain

    def format(self, record: logging.LogRecord) -> str:
        """Format a record as a line."""
        fields = _record_fields(record)
        if not self._plain:
            return msgspec.json.encode(fields).decode()
        time, level, what = (str(fields.pop(name)) for name in ("at", "level", "what"))
        prefix = "" if level == "info" else f"{level}: "
        return " ".join(
            [time[11:19], f"{prefix}{what}", *(f"{key}={value}" for key, value in fields.items())]
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
    fields |= {name: getattr(record, name) for name in _DEFECT_ATTRIBUTES if hasattr(record, name)}
    fields |= getattr(record, "facts", {})
    if record.exc_info and record.exc_info[0] is not None:
        fields["error"] = record.exc_info[0].__name__
        fields["where"] = _error_location(record.exc_info[2])
    return fields


def _error_location(trace: TracebackType | None) -> str:
    """Return the innermost frame of a traceback as `file:line function`."""
    location = ""
    for frame, line in walk_tb(trace):
        code = frame.f_code
        location = f"{PurePath(code.co_filename).name}:{line} {code.co_name}"
    return location
