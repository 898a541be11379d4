"""Generate the OpenAPI document and the tables of the API reference from the operations.

The OpenAPI document: made from the operations themselves, so that it is true.

Schemas come from the very types that are read and written. Commands are shown as they are sent:
without the one who sends them, and without a second person, who has to speak for himself.

The tables of the API's reference, made from the application itself.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

import msgspec

from threedice.api.auth.authorisation import (
    ANYONE,
    COMMAND_PERMISSIONS,
    OPERATION_PERMISSIONS,
    SCOPES,
    SECOND_PERSON_FIELDS,
    Permission,
)
from threedice.api.context import SECURE_COOKIE
from threedice.api.http.operations import PATH_PARAMETERS, IdempotencyKey, path_parameter_names
from threedice.api.http.problems import STATUS_TITLES, Problem
from threedice.api.live.messages import CLIENT_MESSAGES, SERVER_MESSAGES
from threedice.house.commands import AnyAccountCommand, AnyTableCommand
from threedice.house.events import AnyStreamEvent
from threedice.identity import ROLES
from threedice.tags import tag_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from threedice.api.http.operations import Operation


REF_TEMPLATE: Final = "#/components/schemas/{name}"


COMMON_PROBLEM_STATUSES: Final = (403, 421, 503)


BODY_PROBLEM_STATUSES: Final = (400, 408, 413, 415, 422)


def build_document(operations: Iterable[Operation]) -> dict[str, Any]:
    """Return the document of these operations."""
    declared = tuple(operations)
    commands = [*_union_members(AnyTableCommand), *_union_members(AnyAccountCommand)]
    unions = {
        "Event": AnyStreamEvent,
        "LiveMessage": SERVER_MESSAGES,
        "LiveClientMessage": CLIENT_MESSAGES,
    }
    bodies = {f"{each.name} body": each.body for each in declared if each.body is not None}
    answers = {
        f"{each.name} answer": each.response for each in declared if each.response is not None
    }
    queries = {f"{each.name} query": each.query for each in declared if each.query is not None}
    named = {**unions, **bodies, **answers, **queries, "Problem": Problem}
    kinds = [
        *named.values(),
        *commands,
        *PATH_PARAMETERS.values(),
        IdempotencyKey,
        *_approval_commands(),
    ]
    schemas, components = msgspec.json.schema_components(kinds, ref_template=REF_TEMPLATE)
    named_schemas = dict(zip([*named], schemas[: len(named)], strict=True))
    _hide_server_fields(components, [tag_of(each) for each in commands])
    requests = schemas[-len(_approval_commands()) :]
    if "RequestForm" in components:
        components["RequestForm"]["properties"]["command"] = {"oneOf": requests}
    for name in unions:
        components[name] = named_schemas[name]
    paths: dict[str, dict[str, Any]] = {}
    for each in declared:
        paths.setdefault(each.path, {})[each.method.lower()] = _describe_operation(
            each, named_schemas, components
        )
    return {
        "openapi": "3.1.0",
        "info": _document_info(),
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": _security_schemes()},
        "x-live": {
            "/api/tables/{table}/live": {
                "summary": "Follow a table over a WebSocket, from a version on.",
                "server-sends": {"$ref": REF_TEMPLATE.format(name="LiveMessage")},
                "client-sends": {"$ref": REF_TEMPLATE.format(name="LiveClientMessage")},
            }
        },
    }


def _union_members(union: Any) -> tuple[Any, ...]:
    return tuple(union.__args__)


def _approval_commands() -> list[Any]:
    """Return the commands that are asked for through requests."""
    return [
        each for each in _union_members(AnyTableCommand) if tag_of(each) in SECOND_PERSON_FIELDS
    ]


def _hide_server_fields(components: dict[str, Any], commands: list[str]) -> None:
    """Show commands without what the server puts in itself."""
    for name in commands:
        schema = components[name]
        hidden = ["by", SECOND_PERSON_FIELDS.get(name, "by")]
        for field in hidden:
            schema["properties"].pop(field, None)
        schema["required"] = [each for each in schema["required"] if each not in hidden]
        right = COMMAND_PERMISSIONS[name]
        schema["x-roles"], schema["x-scope"] = sorted(right.roles), right.scope


def _document_info() -> dict[str, Any]:
    return {
        "title": "Threedice house API",
        "version": version("threedice"),
        "summary": "Tables of games with three dice, their people and their books.",
        "description": (
            "Amounts are whole minor units; times are microseconds of UTC since 1970. What goes "
            "wrong is a problem of RFC 9457 with a code, and the text in the language asked for."
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
            "description": "A person's session; over plain HTTP on loopback it is `threedice`.",
        },
        "program": {
            "type": "http",
            "scheme": "bearer",
            "description": f"A program's token, `td_...`, made for some of: {scopes}.",
        },
    }


def _describe_operation(
    operation: Operation, named_schemas: dict[str, Any], components: dict[str, Any]
) -> dict[str, Any]:
    right = OPERATION_PERMISSIONS[operation.name]
    anyone = ANYONE in right.roles
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "x-roles": sorted(right.roles),
        "x-scope": right.scope,
        "security": _security(anyone=anyone, persons_only=right.scope == "nobody"),
        "responses": _responses(operation, named_schemas, anyone=anyone),
    }
    if parameters := _parameters(operation, named_schemas, components):
        described["parameters"] = parameters
    if operation.body is not None:
        described["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": named_schemas[f"{operation.name} body"]}},
        }
    return described


def _security(*, anyone: bool, persons_only: bool) -> list[dict[str, list[str]]]:
    if anyone:
        return []
    person: dict[str, list[str]] = {"session": []}
    return [person] if persons_only else [person, {"program": []}]


def _parameters(
    operation: Operation, named_schemas: dict[str, Any], components: dict[str, Any]
) -> list[dict[str, Any]]:
    schemas, _ = msgspec.json.schema_components(PATH_PARAMETERS.values(), ref_template=REF_TEMPLATE)
    forms = dict(zip(PATH_PARAMETERS, schemas, strict=True))
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": forms[name]}
        for name in path_parameter_names(operation.path)
    ]
    if operation.requires_key:
        (form,), _ = msgspec.json.schema_components([IdempotencyKey], ref_template=REF_TEMPLATE)
        header = {"name": "Idempotency-Key", "in": "header", "required": True, "schema": form}
        parameters.append(header)
    if operation.query is not None:
        name = named_schemas[f"{operation.name} query"]["$ref"].rpartition("/")[2]
        form = components[name]
        parameters += [
            {"name": field, "in": "query", "required": False, "schema": _query_schema(schema)}
            for field, schema in form["properties"].items()
        ]
    return parameters


def _query_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the form of something in a query, which is left out where it is nothing."""
    kinds = [each for each in schema.get("anyOf", []) if each != {"type": "null"}]
    return kinds[0] if len(kinds) == 1 else schema


def _responses(
    operation: Operation, named_schemas: dict[str, Any], *, anyone: bool
) -> dict[str, Any]:
    statuses = {*COMMON_PROBLEM_STATUSES, *operation.problems}
    if not anyone:
        statuses.add(401)
    if operation.body is not None:
        statuses.update(BODY_PROBLEM_STATUSES)
    if operation.query is not None:
        statuses.add(422)
    if path_parameter_names(operation.path):
        statuses.add(404)
    answered: dict[str, Any] = {"description": operation.summary}
    if operation.response is not None:
        schema = named_schemas[f"{operation.name} answer"]
        answered["content"] = {"application/json": {"schema": schema}}
    problem = {"schema": {"$ref": REF_TEMPLATE.format(name="Problem")}}
    return {
        str(operation.status): answered,
        **{
            str(status): {
                "description": STATUS_TITLES[status],
                "content": {"application/problem+json": problem},
            }
            for status in sorted(statuses)
        },
    }


def operations_table(operations: Iterable[Operation]) -> str:
    """Return all operations as a Markdown table, with who may use each."""
    rows = [
        (
            f"`{each.method} {each.path}`",
            each.summary,
            *_permission_columns(OPERATION_PERMISSIONS[each.name]),
        )
        for each in operations
    ]
    return _markdown_table(("operation", "what it does", "roles", "programs"), rows)


def commands_table() -> str:
    """Return all commands as a Markdown table, with who may send each."""
    rows = [
        (f"`{name}`", *_permission_columns(right))
        for name, right in COMMAND_PERMISSIONS.items()
        if right.roles
    ]
    return _markdown_table(("command", "roles", "programs"), rows)


def _permission_columns(right: Permission) -> tuple[str, str]:
    if ANYONE in right.roles:
        return "anyone", "anyone"
    roles = [role for role in ROLES if role in right.roles]
    said = "everybody signed in" if len(roles) == len(ROLES) else ", ".join(roles)
    return said, "no" if right.scope == "nobody" else right.scope


def _markdown_table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [heads, tuple("---" for _ in heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
