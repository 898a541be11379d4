"""Generate the OpenAPI document from the route handlers.

Parameters, bodies and responses come from the signatures of the handlers, and schemas from msgspec:
Litestar's own document could not show commands as clients send them, without `by` and without a
second person, which the server fills in.
"""

from __future__ import annotations

import re
from importlib.metadata import version
from types import NoneType
from typing import TYPE_CHECKING, Annotated, Any, Final, get_args, get_origin, get_type_hints

import msgspec
from litestar import Response
from litestar.params import ParameterKwarg

from threedice.api.auth.authorisation import (
    ANYONE,
    COMMANDS,
    OPERATION_PERMISSIONS,
    SCOPES,
)
from threedice.api.context import SECURE_COOKIE
from threedice.api.http.problems import STATUS_TITLES, Problem
from threedice.api.http.requests import IdempotencyKey, query_parameters
from threedice.api.live.messages import PingMessage, ServerMessage
from threedice.house.codec import tag_of
from threedice.house.commands import AnyAccountCommand, AnyTableCommand
from threedice.house.events import AnyStreamEvent

if TYPE_CHECKING:
    from collections.abc import Iterable

    from litestar.handlers import HTTPRouteHandler


REF_TEMPLATE: Final = "#/components/schemas/{name}"
COMMON_PROBLEM_STATUSES: Final = (403, 421, 429, 503)
BODY_PROBLEM_STATUSES: Final = (400, 408, 413, 415, 422)


_PATH_PARAMETER: Final = re.compile(r"{(\w+?)(?:_id)?:str}")
"""A parameter in a path; `request_id` is published as `request`, a name that Litestar reserves."""


def build_document(handlers: Iterable[HTTPRouteHandler]) -> dict[str, Any]:
    """Build the OpenAPI document of route handlers."""
    handlers = tuple(handlers)
    commands = [*get_args(AnyTableCommand), *get_args(AnyAccountCommand)]
    unions = {"Event": AnyStreamEvent, "LiveMessage": ServerMessage}
    bodies = {f"{each.name} body": body_type(each) for each in handlers}
    responses = {f"{each.name} response": response_type(each) for each in handlers}
    named_types = {**unions, **bodies, **responses, "Problem": Problem}
    named_types = {name: each for name, each in named_types.items() if each is not None}
    schemas, components = msgspec.json.schema_components(
        [*named_types.values(), PingMessage, *commands], ref_template=REF_TEMPLATE
    )
    named_schemas = dict(zip(named_types, schemas, strict=False))
    _describe_commands(components, [tag_of(each) for each in commands])
    components |= {name: named_schemas[name] for name in unions}
    paths: dict[str, dict[str, Any]] = {}
    for each in handlers:
        paths.setdefault(published_path(each), {})[method_of(each).lower()] = _describe_operation(
            each, named_schemas
        )
    document = {
        "openapi": "3.1.0",
        "info": _document_info(),
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": _security_schemes()},
        "x-live": {
            "/api/tables/{table}/live": {
                "summary": "Follow a table over a WebSocket, starting after a version.",
                "server-sends": {"$ref": REF_TEMPLATE.format(name="LiveMessage")},
                "client-sends": {"$ref": REF_TEMPLATE.format(name=PingMessage.__name__)},
            }
        },
    }
    _adapt_schemas(document)
    return document


def _adapt_schemas(node: Any) -> None:
    r"""Write the schemas of msgspec as other programs read them.

    The end of a pattern is `$` in JSON Schema, and `\Z` in Python. A tuple has its length in
    `maxItems`: the `items: false` that says it again is valid, but stops openapi-python-client.
    """
    for value in node.values() if isinstance(node, dict) else node:
        if isinstance(value, dict | list):
            _adapt_schemas(value)
    if not isinstance(node, dict):
        return
    if isinstance(pattern := node.get("pattern"), str):
        node["pattern"] = re.sub(r"\\Z\Z", "$", pattern)
    if node.get("items") is False and node.get("maxItems") == len(node.get("prefixItems", ())):
        del node["items"]


def method_of(handler: HTTPRouteHandler) -> str:
    """Return the HTTP method of a handler."""
    return next(iter(handler.http_methods))


def published_path(handler: HTTPRouteHandler) -> str:
    """Return the path of a handler as OpenAPI writes it."""
    return _PATH_PARAMETER.sub(r"{\1}", next(iter(handler.paths)))


def body_type(handler: HTTPRouteHandler) -> Any:
    """Return the type of a handler's body: of `data`, or of the command that it reads."""
    return handler.opt.get("command") or get_type_hints(handler.fn).get("data")


def response_type(handler: HTTPRouteHandler) -> Any:
    """Return the type of a handler's response, or None."""
    returned = handler.opt.get("result") or _type_hints(handler)["return"]
    if get_origin(returned) is Response:
        (returned,) = get_args(returned)
    return None if returned is NoneType else returned


def _type_hints(handler: HTTPRouteHandler) -> dict[str, Any]:
    return get_type_hints(handler.fn, include_extras=True)


def summary_of(handler: HTTPRouteHandler) -> str:
    """Return the first line of a handler's docstring."""
    return (handler.fn.__doc__ or "").partition("\n")[0].strip()


def _describe_commands(components: dict[str, Any], commands: list[str]) -> None:
    """Remove the fields that the server fills in, and list the commands for `RequestForm`.

    Clients send a command that needs a second person in a request for approval.
    """
    needs_approval = [name for name in commands if COMMANDS[name].facts.second_person]
    references = [{"$ref": REF_TEMPLATE.format(name=name)} for name in needs_approval]
    components["RequestForm"]["properties"]["command"] = {"oneOf": references}
    for name in commands:
        schema, facts = components[name], COMMANDS[name].facts
        hidden = ["by", facts.second_person, *facts.house_fields]
        for field in hidden:
            schema["properties"].pop(field, None)
        schema["required"] = [field for field in schema["required"] if field not in hidden]
        schema["x-roles"], schema["x-scope"] = sorted(facts.roles), facts.scope


def _document_info() -> dict[str, Any]:
    return {
        "title": "Threedice house API",
        "version": version("threedice"),
        "summary": "Tables of games with three dice, players' accounts, staff and reports.",
        "description": (
            "Amounts are integers in minor units; times are microseconds of UTC since 1970. Errors "
            "are RFC 9457 problems with a code, and a text in the language of `Accept-Language`. "
            "Requests are limited in rate, per account and per address: `RateLimit-Limit` is how "
            "many may come at once, `RateLimit-Remaining` how many are left, `RateLimit-Reset` the "
            "seconds until all of them are available again. Above the limit the status is 429, "
            "with `Retry-After`."
        ),
        "license": {"name": "MIT", "identifier": "MIT"},
    }


def _security_schemes() -> dict[str, Any]:
    scopes = ", ".join(SCOPES)
    return {
        "session": {
            "type": "apiKey",
            "in": "cookie",
            "name": SECURE_COOKIE,
            "description": "A person's session cookie; over plain HTTP on loopback, `threedice`.",
        },
        "program": {
            "type": "http",
            "scheme": "bearer",
            "description": f"A program's API token, `td_...`, with one or more scopes: {scopes}.",
        },
    }


def _describe_operation(handler: HTTPRouteHandler, named_schemas: dict[str, Any]) -> dict[str, Any]:
    permission = OPERATION_PERMISSIONS[handler.name or ""]
    is_public = ANYONE in permission.roles
    description: dict[str, Any] = {
        "operationId": handler.name,
        "summary": summary_of(handler),
        "x-roles": sorted(permission.roles),
        "x-scope": permission.scope,
        "security": _security(is_public=is_public, persons_only=permission.scope == "nobody"),
        "responses": _responses(handler, named_schemas, is_public=is_public),
    }
    if parameters := _parameters(handler):
        description["parameters"] = parameters
    if body_schema := named_schemas.get(f"{handler.name} body"):
        description["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": body_schema}},
        }
    return description


def _security(*, is_public: bool, persons_only: bool) -> list[dict[str, list[str]]]:
    if is_public:
        return []
    session: dict[str, list[str]] = {"session": []}
    return [session] if persons_only else [session, {"program": []}]


def _parameters(handler: HTTPRouteHandler) -> list[dict[str, Any]]:
    hints = _type_hints(handler)
    parameters = [
        _parameter(name.removesuffix("_id"), "path", hints[name])
        for name in re.findall(r"{(\w+):str}", next(iter(handler.paths)))
    ]
    if "command" in handler.opt:
        parameters.append(_parameter("Idempotency-Key", "header", IdempotencyKey))
    for name, parameter in query_parameters(handler).items():
        described = _parameter(name, "query", hints[name])
        if parameter.default is parameter.empty:
            described["required"] = True
        elif parameter.default is not None:
            described["schema"]["default"] = parameter.default
        parameters.append(described)
    return parameters


def _parameter(name: str, place: str, annotation: Any) -> dict[str, Any]:
    """Describe a parameter; an optional one is left out of a query instead of being null."""
    base, *metadata = get_args(annotation)
    (limits,) = (each for each in metadata if isinstance(each, ParameterKwarg))
    value_type = next((each for each in get_args(base) if each is not NoneType), base)
    meta = (
        msgspec.Meta(pattern=limits.pattern)
        if limits.pattern
        else msgspec.Meta(ge=limits.ge, le=limits.le)
    )
    schema = msgspec.json.schema(Annotated[value_type, meta])
    return {"name": name, "in": place, "required": place != "query", "schema": schema}


def _responses(
    handler: HTTPRouteHandler, named_schemas: dict[str, Any], *, is_public: bool
) -> dict[str, Any]:
    statuses = {*COMMON_PROBLEM_STATUSES, *(handler.responses or {})}
    if not is_public:
        statuses.add(401)
    if body_type(handler) is not None:
        statuses.update(BODY_PROBLEM_STATUSES)
    if query_parameters(handler):
        statuses.add(422)
    if "{" in published_path(handler):
        statuses.add(404)
    success: dict[str, Any] = {"description": summary_of(handler)}
    if schema := named_schemas.get(f"{handler.name} response"):
        success["content"] = {"application/json": {"schema": schema}}
    problem = {"schema": {"$ref": REF_TEMPLATE.format(name="Problem")}}
    not_modified = {"304": {"description": "Not modified: the client has this answer"}}
    return {
        str(handler.status_code): success,
        **(not_modified if handler.opt.get("revalidated") else {}),
        **{
            str(status): {
                "description": STATUS_TITLES[status],
                "content": {"application/problem+json": problem},
            }
            for status in sorted(statuses)
        },
    }
