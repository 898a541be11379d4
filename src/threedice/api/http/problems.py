"""Map errors to RFC 9457 problem details: type, status, code, text and facts.

A refusal keeps its code, clauses and facts, so that a screen can name the rule and the limit. No
internal detail reaches the client: an unexpected exception becomes a bare `house/defect`.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from threedice.api.texts import Language, text_template
from threedice.errors import (
    InvalidInput,
    KeyReused,
    OperatingFailure,
    QueueFull,
    Refusal,
    RulebookError,
    StoreFailed,
    StoreUnavailable,
    StreamConflict,
    ThreediceError,
    UnknownName,
)
from threedice.identity import (
    AccountRefused,
    ApprovalRefused,
    IdentityError,
    PasswordRefused,
    RecordNotFound,
    SessionRefused,
    SignInRefused,
)


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """Details of an error: `code` for programs, `detail` for people, `clause` and `facts`."""

    type: str
    title: str
    status: int
    code: str
    detail: str
    clause: list[str] = []
    facts: dict[str, Any] = {}


class HttpProblem(ThreediceError):
    """A request rejected by the HTTP layer, before any rule of a game applies."""

    def __init__(self, status: int, code: str, **facts: Any) -> None:
        self.status, self.code, self.facts = status, code, facts
        super().__init__(text_template(code, "en").format_map(facts))


STATUS_TITLES: Final[dict[int, str]] = {
    400: "Malformed request",
    401: "Sign-in required",
    403: "Not permitted",
    404: "Not found",
    405: "Method not allowed",
    408: "Request timed out",
    409: "Not allowed in the current state",
    413: "Request too large",
    415: "Unsupported media type",
    421: "Wrong host",
    422: "Invalid request",
    429: "Too many requests",
    500: "Internal error",
    503: "Temporarily unavailable",
}

_OPERATING_PROBLEMS: Final[tuple[tuple[type[OperatingFailure], int, str], ...]] = (
    (KeyReused, 422, "key/reused"),
    (QueueFull, 503, "house/busy"),
    (StreamConflict, 503, "house/busy"),
    (StoreFailed, 503, "house/suspended"),
    (StoreUnavailable, 503, "house/away"),
    (OperatingFailure, 503, "house/closing"),
)

_SESSION_STATUSES: Final = {"ended": 401, "standing": 403, "enrolled": 409, "not-begun": 409}
_APPROVAL_STATUSES: Final = {"own": 403, "not-own": 403, "role": 403}


def problem_from_error(error: BaseException, language: Language = "en") -> Problem:
    """Convert an error to problem details; of an unexpected exception nothing is disclosed."""
    status, code, facts = _classify_error(error)
    clause = list(error.clause) if isinstance(error, Refusal) else []
    detail = _detail(error, code, facts, language)
    title = STATUS_TITLES.get(status, STATUS_TITLES[500])
    return Problem(f"/problems/{code}", title, status, code, detail, clause, facts)


def retry_after_seconds(error: BaseException) -> int:
    """Return the seconds after which to retry, or 0 if unknown."""
    if isinstance(error, SignInRefused):
        return error.wait_seconds
    if isinstance(error, HttpProblem):
        return int(error.facts.get("seconds", 0))
    return 1 if isinstance(error, QueueFull | StreamConflict | StoreUnavailable) else 0


def _classify_error(error: BaseException) -> tuple[int, str, dict[str, Any]]:
    """Return the status, the code and the facts of an error."""
    match error:
        case Refusal():
            return 409, error.code, {name: _json_fact(fact) for name, fact in error.facts.items()}
        case HttpProblem():
            return error.status, error.code, error.facts
        case OperatingFailure():
            return next(
                (status, code, {})
                for error_type, status, code in _OPERATING_PROBLEMS
                if isinstance(error, error_type)
            )
        case UnknownName():
            nearest = ", ".join(error.nearest)
            return 404, "unknown/name", {"kind": error.kind, "name": error.name, "nearest": nearest}
        case InvalidInput() | RulebookError():
            return 422, "input/wrong", {"problem": str(error)}
        case IdentityError():
            return _classify_identity_error(error)
        case ThreediceError():  # tampered data or a broken invariant; the table has stopped
            return 503, "house/damaged", {}
        case _:
            return 500, "house/defect", {}


def _classify_identity_error(error: IdentityError) -> tuple[int, str, dict[str, Any]]:
    """Return the status, the code and the facts of an error of the identity service."""
    match error:
        case RecordNotFound():
            return 404, "unknown/id", {"kind": error.kind, "name": error.name}
        case SignInRefused():
            facts = {"seconds": error.wait_seconds} if error.wait_seconds else {}
            return 429 if error.reason == "wait" else 401, f"sign-in/{error.reason}", facts
        case SessionRefused():
            return _SESSION_STATUSES[error.reason], f"session/{error.reason}", {}
        case PasswordRefused():
            return 422, f"password/{error.reason}", {}
        case AccountRefused():
            return 409, f"account/{error.reason}", {}
        case ApprovalRefused():
            return _APPROVAL_STATUSES.get(error.reason, 409), f"request/{error.reason}", {}
        case _:
            return 403, "door/role", {}


def _detail(error: BaseException, code: str, facts: dict[str, Any], language: Language) -> str:
    """Return the text of an error; in English an identity error has its own, more specific one."""
    if language == "en" and isinstance(error, IdentityError):
        return _capitalise(str(error))
    text = text_template(code, language).format_map(_FactsWithDefault(facts))
    clauses = ", ".join(error.clause) if isinstance(error, Refusal) else ""
    return _capitalise(f"{text} ({clauses})" if clauses else text)


class _FactsWithDefault(dict[str, Any]):
    """Facts for a text template; a missing fact is formatted as nothing."""

    def __missing__(self, key: str) -> str:
        return ""


def _capitalise(text: str) -> str:
    return text[:1].upper() + text[1:]


def _json_fact(value: Any) -> Any:
    return value if isinstance(value, str | int | bool | None) else str(value)
