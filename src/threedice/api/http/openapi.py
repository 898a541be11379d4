"""Generate the OpenAPI document and the tables of the API reference from the operations.

Schemas come from the types that requests and responses are parsed to and encoded from. Commands are
shown as clients send them: without `by` and without a second person, which the server fills in.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

import msgspec

from threedice.api.auth.authorisation import (
    ANYONE,
    COMMANDS,
    OPERATION_PERMISSIONS,
    SCOPES,
    TokenScope,
)
from threedice.api.context import SECURE_COOKIE
from threedice.api.http.operations import PATH_PARAMETERS, IdempotencyKey, path_parameter_names
from threedice.api.http.problems import STATUS_TITLES, Problem
from threedice.api.live.messages import CLIENT_MESSAGES, SERVER_MESSAGES
from threedice.house.codec import tag_of
from threedice.house.commands import AnyAccountCommand, AnyTableCommand
from threedice.house.events import AnyStreamEvent
from threedice.identity import ROLES

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from threedice.api.http.operations import Operation


REF_TEMPLATE: Final = "#/components/schemas/{name}"
COMMON_PROBLEM_STATUSES: Final = (403, 421, 503)
BODY_PROBLEM_STATUSES: Final = (400, 408, 413, 415, 422)


def build_document(operations: Iterable[Operation]) -> dict[str, Any]:
    """Build the OpenAPI document of operations."""
    operations = tuple(operations)
    commands = [*_union_members(AnyTableCommand), *_union_members(AnyAccountCommand)]
    unions = {
        "Event": AnyStreamEvent,
        "LiveMessage": SERVER_MESSAGES,
        "LiveClientMessage": CLIENT_MESSAGES,
    }
    bodies = {f"{each.name} body": each.body for each in operations if each.body is not None}
    responses = {
        f"{each.name} response": each.response for each in operations if each.response is not None
    }
    queries = {f"{each.name} query": each.query for each in operations if each.query is not None}
    named_types = {**unions, **bodies, **responses, **queries, "Problem": Problem}
    types = [
        *named_types.values(),
        *commands,
        *PATH_PARAMETERS.values(),
        IdempotencyKey,
        *_approval_commands(),
    ]
    schemas, components = msgspec.json.schema_components(types, ref_template=REF_TEMPLATE)
    named_schemas = dict(zip([*named_types], schemas[: len(named_types)], strict=True))
    _hide_server_fields(components, [tag_of(each) for each in commands])
    approval_schemas = schemas[-len(_approval_commands()) :]
    if "RequestForm" in components:
        components["RequestForm"]["properties"]["command"] = {"oneOf": approval_schemas}
    for name in unions:
        components[name] = named_schemas[name]
    paths: dict[str, dict[str, Any]] = {}
    for each in operations:
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
                "summary": "Follow a table over a WebSocket, starting after a version.",
                "server-sends": {"$ref": REF_TEMPLATE.format(name="LiveMessage")},
                "client-sends": {"$ref": REF_TEMPLATE.format(name="LiveClientMessage")},
            }
        },
    }


def _union_members(union: Any) -> tuple[Any, ...]:
    return tuple(union.__args__)


def _approval_commands() -> list[Any]:
    """Return the commands that need a second person, which clients send as requests."""
    return [each for each in _union_members(AnyTableCommand) if each.facts.second_person]


def _hide_server_fields(components: dict[str, Any], commands: list[str]) -> None:
    """Remove the fields that the server fills in from the schemas of commands."""
    for name in commands:
        schema, facts = components[name], COMMANDS[name].facts
        hidden = ["by", facts.second_person]
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
            "are RFC 9457 problems with a code, and a text in the language of `Accept-Language`."
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


def _describe_operation(
    operation: Operation, named_schemas: dict[str, Any], components: dict[str, Any]
) -> dict[str, Any]:
    permission = OPERATION_PERMISSIONS[operation.name]
    is_public = ANYONE in permission.roles
    description: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "x-roles": sorted(permission.roles),
        "x-scope": permission.scope,
        "security": _security(is_public=is_public, persons_only=permission.scope == "nobody"),
        "responses": _responses(operation, named_schemas, is_public=is_public),
    }
    if parameters := _parameters(operation, named_schemas, components):
        description["parameters"] = parameters
    if operation.body is not None:
        description["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": named_schemas[f"{operation.name} body"]}},
        }
    return description


def _security(*, is_public: bool, persons_only: bool) -> list[dict[str, list[str]]]:
    if is_public:
        return []
    session: dict[str, list[str]] = {"session": []}
    return [session] if persons_only else [session, {"program": []}]


def _parameters(
    operation: Operation, named_schemas: dict[str, Any], components: dict[str, Any]
) -> list[dict[str, Any]]:
    schemas, _ = msgspec.json.schema_components(PATH_PARAMETERS.values(), ref_template=REF_TEMPLATE)
    path_schemas = dict(zip(PATH_PARAMETERS, schemas, strict=True))
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": path_schemas[name]}
        for name in path_parameter_names(operation.path)
    ]
    if operation.requires_key:
        (schema,), _ = msgspec.json.schema_components([IdempotencyKey], ref_template=REF_TEMPLATE)
        header = {"name": "Idempotency-Key", "in": "header", "required": True, "schema": schema}
        parameters.append(header)
    if operation.query is not None:
        name = named_schemas[f"{operation.name} query"]["$ref"].rpartition("/")[2]
        parameters += [
            {"name": field, "in": "query", "required": False, "schema": _query_schema(schema)}
            for field, schema in components[name]["properties"].items()
        ]
    return parameters


def _query_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a query parameter without null: an absent one is left out instead."""
    schemas = [each for each in schema.get("anyOf", []) if each != {"type": "null"}]
    return schemas[0] if len(schemas) == 1 else schema


def _responses(
    operation: Operation, named_schemas: dict[str, Any], *, is_public: bool
) -> dict[str, Any]:
    statuses = {*COMMON_PROBLEM_STATUSES, *operation.problems}
    if not is_public:
        statuses.add(401)
    if operation.body is not None:
        statuses.update(BODY_PROBLEM_STATUSES)
    if operation.query is not None:
        statuses.add(422)
    if path_parameter_names(operation.path):
        statuses.add(404)
    success: dict[str, Any] = {"description": operation.summary}
    if operation.response is not None:
        schema = named_schemas[f"{operation.name} response"]
        success["content"] = {"application/json": {"schema": schema}}
    problem = {"schema": {"$ref": REF_TEMPLATE.format(name="Problem")}}
    return {
        str(operation.status): success,
        **{
            str(status): {
                "description": STATUS_TITLES[status],
                "content": {"application/problem+json": problem},
            }
            for status in sorted(statuses)
        },
    }


def operations_table(operations: Iterable[Operation]) -> str:
    """Return all operations as a Markdown table, with the permissions of each."""
    rows = [
        (
            f"`{each.method} {each.path}`",
            each.summary,
            *_permission_columns(*OPERATION_PERMISSIONS[each.name]),
        )
        for each in operations
    ]
    return _markdown_table(("operation", "summary", "roles", "programs"), rows)


def commands_table() -> str:
    """Return all commands as a Markdown table, with the permissions of each."""
    rows = [
        (f"`{name}`", *_permission_columns(command.facts.roles, command.facts.scope))
        for name, command in COMMANDS.items()
        if command.facts.roles
    ]
    return _markdown_table(("command", "roles", "programs"), rows)


def _permission_columns(roles: Collection[str], scope: TokenScope) -> tuple[str, str]:
    if ANYONE in roles:
        return "anyone", "anyone"
    names = [role for role in ROLES if role in roles]
    roles_text = "everybody signed in" if len(names) == len(ROLES) else ", ".join(names)
    return roles_text, "no" if scope == "nobody" else scope


def _markdown_table(headings: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [headings, tuple("---" for _ in headings), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
