"""The OpenAPI document: made from the operations themselves, so that it is true.

Schemas come from the very types that are read and written. Commands are shown as they are sent:
without the one who sends them, and without a second person, who has to speak for himself.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

import msgspec

from threedice.floor.commands import AnyAccountCommand, AnyTableCommand
from threedice.floor.events import AnyStreamEvent
from threedice.tags import tag_of
from threedice.web.addresses import PARTS, Key, parts_of
from threedice.web.authorisation import ANYONE, COMMANDS, QUERIES, SCOPES, SECOND_PERSON
from threedice.web.context import COOKIE
from threedice.web.live_messages import CLIENT_MESSAGES, MESSAGES
from threedice.web.problems import TITLES, Problem

if TYPE_CHECKING:
    from collections.abc import Iterable

    from threedice.web.answering import Operation

REFS: Final = "#/components/schemas/{name}"
ALWAYS: Final = (403, 421, 503)
WITH_BODY: Final = (400, 408, 413, 415, 422)


def document(operations: Iterable[Operation]) -> dict[str, Any]:
    """Return the document of these operations."""
    asked = tuple(operations)
    commands = [*_members(AnyTableCommand), *_members(AnyAccountCommand)]
    unions = {
        "Event": AnyStreamEvent,
        "LiveMessage": MESSAGES,
        "LiveClientMessage": CLIENT_MESSAGES,
    }
    bodies = {f"{each.name} body": each.body for each in asked if each.body is not None}
    answers = {f"{each.name} answer": each.answer for each in asked if each.answer is not None}
    queries = {f"{each.name} query": each.query for each in asked if each.query is not None}
    named = {**unions, **bodies, **answers, **queries, "Problem": Problem}
    kinds = [*named.values(), *commands, *PARTS.values(), Key, *_requested()]
    schemas, components = msgspec.json.schema_components(kinds, ref_template=REFS)
    shown = dict(zip([*named], schemas[: len(named)], strict=True))
    _as_sent(components, [tag_of(each) for each in commands])
    requests = schemas[-len(_requested()) :]
    if "RequestForm" in components:
        components["RequestForm"]["properties"]["command"] = {"oneOf": requests}
    for name in unions:
        components[name] = shown[name]
    paths: dict[str, dict[str, Any]] = {}
    for each in asked:
        paths.setdefault(each.path, {})[each.method.lower()] = _operation(each, shown, components)
    return {
        "openapi": "3.1.0",
        "info": _info(),
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": _schemes()},
        "x-live": {
            "/api/tables/{table}/live": {
                "summary": "Follow a table over a WebSocket, from a version on.",
                "server-sends": {"$ref": REFS.format(name="LiveMessage")},
                "client-sends": {"$ref": REFS.format(name="LiveClientMessage")},
            }
        },
    }


def _members(union: Any) -> tuple[Any, ...]:
    return tuple(union.__args__)


def _requested() -> list[Any]:
    """Return the commands that are asked for through requests."""
    return [each for each in _members(AnyTableCommand) if tag_of(each) in SECOND_PERSON]


def _as_sent(components: dict[str, Any], commands: list[str]) -> None:
    """Show commands without what the server puts in itself."""
    for name in commands:
        schema = components[name]
        hidden = ["by", SECOND_PERSON.get(name, "by")]
        for field in hidden:
            schema["properties"].pop(field, None)
        schema["required"] = [each for each in schema["required"] if each not in hidden]
        right = COMMANDS[name]
        schema["x-roles"], schema["x-scope"] = sorted(right.roles), right.scope


def _info() -> dict[str, Any]:
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


def _schemes() -> dict[str, Any]:
    scopes = ", ".join(SCOPES)
    return {
        "session": {
            "type": "apiKey",
            "in": "cookie",
            "name": COOKIE,
            "description": "A person's session; over plain HTTP on loopback it is `threedice`.",
        },
        "program": {
            "type": "http",
            "scheme": "bearer",
            "description": f"A program's token, `td_...`, made for some of: {scopes}.",
        },
    }


def _operation(
    asked: Operation, shown: dict[str, Any], components: dict[str, Any]
) -> dict[str, Any]:
    right = QUERIES[asked.name]
    anyone = ANYONE in right.roles
    described: dict[str, Any] = {
        "operationId": asked.name,
        "summary": asked.summary,
        "x-roles": sorted(right.roles),
        "x-scope": right.scope,
        "security": _security(anyone=anyone, persons_only=right.scope == "nobody"),
        "responses": _responses(asked, shown, anyone=anyone),
    }
    if parameters := _parameters(asked, shown, components):
        described["parameters"] = parameters
    if asked.body is not None:
        described["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": shown[f"{asked.name} body"]}},
        }
    return described


def _security(*, anyone: bool, persons_only: bool) -> list[dict[str, list[str]]]:
    if anyone:
        return []
    person: dict[str, list[str]] = {"session": []}
    return [person] if persons_only else [person, {"program": []}]


def _parameters(
    asked: Operation, shown: dict[str, Any], components: dict[str, Any]
) -> list[dict[str, Any]]:
    schemas, _ = msgspec.json.schema_components(PARTS.values(), ref_template=REFS)
    forms = dict(zip(PARTS, schemas, strict=True))
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": forms[name]}
        for name in parts_of(asked.path)
    ]
    if asked.keyed:
        (form,), _ = msgspec.json.schema_components([Key], ref_template=REFS)
        header = {"name": "Idempotency-Key", "in": "header", "required": True, "schema": form}
        parameters.append(header)
    if asked.query is not None:
        name = shown[f"{asked.name} query"]["$ref"].rpartition("/")[2]
        form = components[name]
        parameters += [
            {"name": field, "in": "query", "required": False, "schema": _plain(schema)}
            for field, schema in form["properties"].items()
        ]
    return parameters


def _plain(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the form of something in a query, which is left out where it is nothing."""
    kinds = [each for each in schema.get("anyOf", []) if each != {"type": "null"}]
    return kinds[0] if len(kinds) == 1 else schema


def _responses(asked: Operation, shown: dict[str, Any], *, anyone: bool) -> dict[str, Any]:
    statuses = {*ALWAYS, *asked.problems}
    if not anyone:
        statuses.add(401)
    if asked.body is not None:
        statuses.update(WITH_BODY)
    if asked.query is not None:
        statuses.add(422)
    if parts_of(asked.path):
        statuses.add(404)
    answered: dict[str, Any] = {"description": asked.summary}
    if asked.answer is not None:
        schema = shown[f"{asked.name} answer"]
        answered["content"] = {"application/json": {"schema": schema}}
    problem = {"schema": {"$ref": REFS.format(name="Problem")}}
    return {
        str(asked.status): answered,
        **{
            str(status): {
                "description": TITLES[status],
                "content": {"application/problem+json": problem},
            }
            for status in sorted(statuses)
        },
    }
