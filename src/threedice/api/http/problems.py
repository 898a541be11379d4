"""What goes wrong, as RFC 9457 problem details: a type, a status, a text, and the facts.

A refusal carries its code, its clauses and its facts, so that a screen can say which rule and what
is possible. Nothing that is not meant for whoever asked ever gets into one.
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
    """What went wrong: `code` for programs, `detail` for people, `clause` and `facts` for both."""

    type: str
    title: str
    status: int
    code: str
    detail: str
    clause: list[str] = []
    facts: dict[str, Any] = {}


class HttpProblem(ThreediceError):
    """Somebody who is turned away at the door, before any rule of a game is asked."""

    def __init__(self, status: int, code: str, **facts: Any) -> None:
        self.status, self.code, self.facts = status, code, facts
        super().__init__(text_template(code, "en").format_map(facts))


STATUS_TITLES: Final[dict[int, str]] = {
    400: "This cannot be read",
    401: "Sign in first",
    403: "This is not for you to do",
    404: "There is no such thing",
    405: "This is not done here",
    408: "This took too long to arrive",
    409: "The rules do not allow this now",
    413: "This is too large",
    415: "This is of no kind that is read here",
    421: "Another house was meant",
    422: "This cannot be meant",
    429: "This was too often",
    500: "Something is wrong with the house",
    503: "The house cannot do this at the moment",
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
_REQUEST_STATUSES: Final = {"own": 403, "not-own": 403, "role": 403}


def problem_from_error(error: BaseException, language: Language = "en") -> Problem:
    """Return what is told of an error: of ours all that is meant to be, of a defect nothing."""
    status, code, facts = _classify_error(error)
    clause = list(error.clause) if isinstance(error, Refusal) else []
    detail = _detail(error, code, facts, language)
    title = STATUS_TITLES.get(status, STATUS_TITLES[500])
    return Problem(f"/problems/{code}", title, status, code, detail, clause, facts)


def retry_after_seconds(error: BaseException) -> int:
    """Return after how many seconds it is worth trying again; 0 where that is not known."""
    if isinstance(error, SignInRefused):
        return error.wait_seconds
    if isinstance(error, HttpProblem):
        return int(error.facts.get("seconds", 0))
    return 1 if isinstance(error, QueueFull | StreamConflict | StoreUnavailable) else 0


def _classify_error(error: BaseException) -> tuple[int, str, dict[str, Any]]:
    """Return the status, the code and the facts of an error."""
    match error:
        case Refusal():
            return 409, error.code, {name: _json_fact(each) for name, each in error.facts.items()}
        case HttpProblem():
            return error.status, error.code, error.facts
        case OperatingFailure():
            kind = next(each for each in _OPERATING_PROBLEMS if isinstance(error, each[0]))
            return kind[1], kind[2], {}
        case UnknownName():
            nearest = ", ".join(error.nearest)
            return 404, "unknown/name", {"kind": error.kind, "name": error.name, "nearest": nearest}
        case InvalidInput() | RulebookError():
            return 422, "input/wrong", {"problem": str(error)}
        case IdentityError():
            return _classify_identity_error(error)
        case ThreediceError():  # what was tampered with, or an invariant: it stands still
            return 503, "house/damaged", {}
        case _:
            return 500, "house/defect", {}


def _classify_identity_error(error: IdentityError) -> tuple[int, str, dict[str, Any]]:
    """Return the status, the code and the facts of what is refused about people."""
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
            return _REQUEST_STATUSES.get(error.reason, 409), f"request/{error.reason}", {}
        case _:
            return 403, "door/role", {}


def _detail(error: BaseException, code: str, facts: dict[str, Any], language: Language) -> str:
    """Return the words for an error in a language; its own where there are none in English."""
    if language == "en" and isinstance(error, IdentityError):
        return _sentence(str(error))
    words = text_template(code, language).format_map(_FactsWithDefault(facts))
    under = ", ".join(error.clause) if isinstance(error, Refusal) else ""
    return _sentence(f"{words} ({under})" if under else words)


class _FactsWithDefault(dict[str, Any]):
    """The facts of a text; what is missing is left out."""

    def __missing__(self, key: str) -> str:
        return ""


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:]


def _json_fact(value: Any) -> Any:
    return value if isinstance(value, str | int | bool | None) else str(value)
