"""The server's journal: one line on standard error for every notable thing.

JSON for programs, plain words where somebody looks. Lines hold ids, codes and figures: no secret,
no name, no address, and of an error what it was and where, never what it was about.
"""

from __future__ import annotations

import logging
import sys
from contextvars import ContextVar
from datetime import UTC, datetime
from itertools import count
from pathlib import PurePath
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Final, TextIO

import msgspec

if TYPE_CHECKING:
    from types import TracebackType

REQUEST: ContextVar[str] = ContextVar("request", default="")
"""The id of the request that is being answered."""

_LOGGER: Final = logging.getLogger("threedice")
_BESIDE: Final = ("kind", "place")
"""What is said of a defect beside its line."""

QUIET: Final = ("uvicorn", "uvicorn.error", "uvicorn.access", "litestar", "asyncio")


def numbered(app: Any) -> Any:
    """Return an application whose every request has an id, by which its lines belong together."""
    server, numbers = token_hex(3), count(1)

    async def numbering(scope: Any, receive: Any, send: Any) -> None:
        REQUEST.set(f"{server}-{next(numbers)}")
        await app(scope, receive, send)

    return numbering


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
    handler.setFormatter(Plain() if (stream.isatty() if plain is None else plain) else Lines())
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    _LOGGER.setLevel(logging.INFO)
    for name in QUIET:
        quiet = logging.getLogger(name)
        quiet.handlers.clear()
        quiet.propagate = True
        quiet.setLevel(logging.WARNING)
    return handler


def close_journal(handler: logging.Handler) -> None:
    """Log nothing more here."""
    logging.getLogger().removeHandler(handler)
    handler.close()


class Lines(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as a line."""
        return msgspec.json.encode(_facts(record)).decode()


class Plain(logging.Formatter):
    """Words, for a person at a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as a line."""
        facts = _facts(record)
        at, what = str(facts.pop("at"))[11:19], facts.pop("what")
        level = str(facts.pop("level"))
        mark = "" if level == "info" else f"{level}: "
        return " ".join([at, f"{mark}{what}", *(f"{key}={value}" for key, value in facts.items())])


def _facts(record: logging.LogRecord) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
        "level": record.levelname.lower(),
        "what": " ".join(record.getMessage().split()),
    }
    if record.name != _LOGGER.name:
        facts["by"] = record.name
    if request := REQUEST.get():
        facts["request"] = request
    facts.update({name: getattr(record, name) for name in _BESIDE if hasattr(record, name)})
    facts.update(getattr(record, "facts", {}))
    if record.exc_info and record.exc_info[0] is not None:
        facts["error"] = record.exc_info[0].__name__
        facts["where"] = _where(record.exc_info[2])
    return facts


def _where(trace: TracebackType | None) -> str:
    """Return where an error was raised: the innermost place, and no words of it."""
    place = ""
    while trace is not None:
        code = trace.tb_frame.f_code
        place = f"{PurePath(code.co_filename).name}:{trace.tb_lineno} {code.co_name}"
        trace = trace.tb_next
    return place
