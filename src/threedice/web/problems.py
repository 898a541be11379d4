"""What goes wrong, as RFC 9457 problem details: a type, a status, a text, and the facts.

A refusal carries its code, its clauses and its facts, so that a screen can say which rule and what
is possible. Nothing that is not meant for whoever asked ever gets into one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec
from litestar import MediaType, Response

from threedice.errors import (
    Conflicted,
    InvalidInput,
    KeyReused,
    QueueFull,
    Refusal,
    StoreAway,
    StoreFailed,
    ThreediceError,
    UnknownName,
)

if TYPE_CHECKING:
    from litestar import Request
    from litestar.exceptions import HTTPException

PROBLEM: Final = "application/problem+json"


class Problem(msgspec.Struct, omit_defaults=True):
    """A problem as it is sent."""

    type: str
    title: str
    status: int
    detail: str = ""
    code: str = ""
    clause: list[str] = []
    facts: dict[str, Any] = {}


STATUSES: Final[dict[type[ThreediceError], tuple[int, str]]] = {
    Refusal: (409, "The rules do not allow this now"),
    KeyReused: (422, "The key stands for another command"),
    InvalidInput: (422, "This cannot be meant"),
    UnknownName: (404, "There is no such thing"),
    QueueFull: (503, "The house is busy"),
    Conflicted: (503, "The house is busy"),
    StoreAway: (503, "The database does not answer"),
    StoreFailed: (503, "The house is suspended"),
}
"""The status and the title of everything that a caller may hear of; anything else is a 500."""


def told(error: ThreediceError) -> Problem:
    """Return an error of ours as a problem."""
    for kind, (status, title) in STATUSES.items():
        if isinstance(error, kind):
            name = kind.__name__
            if isinstance(error, Refusal):
                facts = {key: str(value) for key, value in error.facts.items()}
                return Problem(
                    f"/problems/{name}", title, status, str(error), error.code,
                    list(error.clause), facts,
                )  # fmt: skip
            return Problem(f"/problems/{name}", title, status, str(error))
    return Problem("/problems/Defect", "Something is wrong with the house", 500)


def answer(problem: Problem, headers: dict[str, str] | None = None) -> Response[bytes]:
    """Return a problem as a response."""
    return Response(
        msgspec.json.encode(problem),
        status_code=problem.status,
        media_type=PROBLEM,
        headers={"Cache-Control": "no-store", **(headers or {})},
    )


def of_ours(_request: Request[Any, Any, Any], error: ThreediceError) -> Response[bytes]:
    """Answer an error of ours."""
    problem = told(error)
    retry = {"Retry-After": "1"} if problem.status == 503 else None
    return answer(problem, retry)


def of_litestar(_request: Request[Any, Any, Any], error: HTTPException) -> Response[bytes]:
    """Answer what the framework refuses, in the same form."""
    title = error.detail if error.status_code < 500 else "Something is wrong with the house"
    return answer(Problem("about:blank", title, error.status_code), dict(error.headers or {}))


def of_others(_request: Request[Any, Any, Any], _error: Exception) -> Response[bytes]:
    """Answer a defect, saying nothing of it."""
    return answer(Problem("/problems/Defect", "Something is wrong with the house", 500))


JSON: Final = MediaType.JSON
