"""Errors as RFC 9457 problem details: type, status, code, text and facts.

`handle_error` is the application's exception handler. A refusal keeps its code, clauses and facts,
so that a screen can name the rule and the limit. No internal detail reaches the client: an
unexpected exception becomes a bare `house/defect`.
"""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import msgspec
from litestar import Response
from litestar.exceptions import HTTPException, ValidationException
from litestar.openapi.datastructures import ResponseSpec

from threedice.api.http import journal
from threedice.api.texts import TEXTS, Language, preferred_language
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
from threedice.house.codec import plain_fact
from threedice.identity import (
    AccountRefused,
    ApprovalRefused,
    IdentityError,
    PasswordRefused,
    RecordNotFound,
    SessionRefused,
    SignInRefused,
)

if TYPE_CHECKING:
    from litestar import Litestar, Request

    from threedice.api.context import ServerContext

PROBLEM_MEDIA_TYPE: Final = "application/problem+json"
_HTTP_METHODS: Final = ("GET", "POST", "PUT", "DELETE")


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
        super().__init__(TEXTS["en"][code].format_map(facts))


class ClientDisconnected(Exception):
    """The client closed the connection; there is nobody to respond to."""


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

_SESSION_STATUSES: Final = {
    "ended": 401,
    "standing": 403,
    "enrolled": 409,
    "not-begun": 409,
    "recovery": 403,
}
_APPROVAL_STATUSES: Final = dict.fromkeys(
    ("own", "not-own", "role", "unconfirmed", "enrolled", "too-new", "recovery"), 403
)


def problem_responses(*statuses: int) -> dict[int, ResponseSpec]:
    """Return the `responses` of a handler that the OpenAPI document would not know of otherwise."""
    return {status: ResponseSpec(Problem, description=STATUS_TITLES[status]) for status in statuses}


def handle_error(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
    """Return any error as a problem response: the application's exception handler."""
    if isinstance(error, ClientDisconnected):
        return Response(b"", status_code=400)  # the client does not receive it
    if isinstance(error, HTTPException):
        error = _translate_http_exception(request, error)
    accept_language = dict(request.scope["headers"]).get(b"accept-language", b"")
    response = _problem_response(error, accept_language, request.app.state.context)
    if response.status_code == 405:
        response.headers["allow"] = ", ".join(_allowed_methods(request.app, request.scope["path"]))
    return response


def _translate_http_exception(request: Request[Any, Any, Any], error: HTTPException) -> Exception:
    """Return Litestar's own errors, such as unknown paths and invalid parameters, as ours."""
    if isinstance(error, ValidationException):
        invalid: dict[str, str] = error.extra[0]  # type: ignore[index]
        source, key = invalid.get("source", ""), invalid.get("key", "")
        if source == "path":
            name = request.path_params[key][:100]
            return HttpProblem(404, "unknown/id", kind=key.removesuffix("_id"), name=name)
        if source == "body":
            return HttpProblem(400, "door/malformed", problem="the body is empty")
        return HttpProblem(422, "door/form", problem=f"{invalid['message']} - at `{key}`")
    if error.status_code == 404:
        return HttpProblem(404, "door/no-such")
    if error.status_code == 405:
        return HttpProblem(405, "door/method", method=request.method)
    if error.status_code < 500:
        return HttpProblem(error.status_code, "door/form", problem=error.detail)
    return error


def _allowed_methods(app: Litestar, path: str) -> list[str]:
    allowed = []
    for method in _HTTP_METHODS:
        with suppress(HTTPException):
            app.asgi_router.handle_routing(path=path, method=method)
            allowed += ["GET", "HEAD"] if method == "GET" else [method]
    return allowed


def _problem_response(
    error: Exception, accept_language: bytes, context: ServerContext
) -> Response[bytes]:
    """Return an error as a problem in the client's language; count and log it.

    This never raises: if an error cannot be described, the response is a bare 500 in English.
    """
    headers = {"content-language": "en", "vary": "accept-language"}
    try:
        language = preferred_language(accept_language)
        problem = problem_from_error(error, language)
        body = msgspec.json.encode(problem)
        context.metrics.count_refused(problem.code)
        if not isinstance(error, ThreediceError):
            journal.warn("defect", error)
        if seconds := retry_after_seconds(error):
            headers["retry-after"] = str(seconds)
        headers["content-language"] = language
    except Exception as failure:
        journal.warn("defect", failure)
        problem, body = _DEFECT, msgspec.json.encode(_DEFECT)
    if problem.status == 401:
        headers["www-authenticate"] = 'Bearer realm="threedice"'
    return Response(
        body, status_code=problem.status, headers=headers, media_type=PROBLEM_MEDIA_TYPE
    )


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
            status = 403 if error.code.startswith("door/") else 409
            return (
                status,
                error.code,
                {name: plain_fact(fact) for name, fact in error.facts.items()},
            )
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
            status = _APPROVAL_STATUSES.get(error.reason, 409)
            return status, f"request/{error.reason}", dict(error.facts)
        case _:
            return 403, "door/role", {}


def _detail(error: BaseException, code: str, facts: dict[str, Any], language: Language) -> str:
    """Return the text of an error; in English an identity error has its own, more specific one.

    A fact that the text names and the error lacks is left out.
    """
    if language == "en" and isinstance(error, IdentityError):
        return _capitalise(str(error))
    template = TEXTS[language][code]
    text = template.format_map(defaultdict(str, facts))
    clauses = ", ".join(error.clause) if isinstance(error, Refusal) else ""
    text = f"{text} ({clauses})" if clauses else text
    return text if template.startswith(_NAMES) else _capitalise(text)


_NAMES: Final = ("{player}", "{person}", "{colour}", "{note}", "{piece}")
"""Placeholders of ids and of names that people gave; another letter case names another thing."""


def _capitalise(text: str) -> str:
    return text[:1].upper() + text[1:]


_DEFECT: Final = problem_from_error(Exception())
"""Made in advance, so that it can be sent whatever fails."""
