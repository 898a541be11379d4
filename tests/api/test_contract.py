"""The OpenAPI document is true: Schemathesis asks everything of it, as everybody."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.core.parameters import ParameterLocation
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.api.recipes import Cook
from tests.api.server import Served, served
from threedice.api.app import API_HANDLERS
from threedice.api.auth.authorisation import ANYONE, OPERATION_PERMISSIONS
from threedice.identity import ROLES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from schemathesis import Case

TRUE = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
NAMES = [each.name or "" for each in API_HANDLERS]
TAKES_NOTHING = ("read-openapi", "verify-log")
EXAMPLES = 4


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with served() as running:
        yield running


@pytest.fixture(scope="module")
def operations(server: Served) -> dict[str, Any]:
    """The operations as the document that is served tells of them."""
    schema = schemathesis.openapi.from_dict(httpx.get(f"{server.url}/api/openapi.json").json())
    results: list[Any] = list(schema.get_all_operations())
    found = [result.ok() for result in results]
    return {each.definition.raw["operationId"]: each for each in found}


def cookies(server: Served, token: str) -> dict[str, str]:
    return {server.setting.context.cookie_name: token} if token else {}


def headers(server: Served, key: str = "") -> dict[str, str]:
    keyed = {"Idempotency-Key": key} if key else {}
    return {"Origin": server.url, **keyed}


def test_openapi_document_lists_every_operation(operations: dict[str, Any]) -> None:
    assert sorted(operations) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_every_permitted_role_gets_a_documented_success(
    server: Served, operations: dict[str, Any], name: str
) -> None:
    asked, right = operations[name], OPERATION_PERMISSIONS[name]
    roles = ("", *ROLES) if ANYONE in right.roles else tuple(r for r in ROLES if r in right.roles)
    cook = Cook(server.setting)
    for role in roles:
        recipe = cook.make(name, role)
        wanted = {part.name for part in asked.path_parameters}
        kwargs: dict[str, Any] = {} if recipe.body is None else {"body": recipe.body}
        if kwargs:
            kwargs["media_type"] = "application/json"
        case = asked.Case(
            path_parameters={part: recipe.path[part] for part in wanted},
            query=recipe.query,
            headers=headers(server, recipe.key),
            cookies=cookies(server, recipe.token),
            **kwargs,
        )
        response = case.call(base_url=server.url)
        assert 200 <= response.status_code < 300, (role, response.text)
        case.validate_response(response, checks=TRUE)


@pytest.mark.parametrize("name", [each for each in NAMES if each not in TAKES_NOTHING])
def test_generated_requests_get_documented_responses(
    server: Served, operations: dict[str, Any], name: str
) -> None:
    cook, asked = Cook(server.setting), operations[name]
    modes = [GenerationMode.POSITIVE]
    if asked.body or asked.query:
        modes.append(GenerationMode.NEGATIVE)
    for mode in modes:

        @given(case=asked.as_strategy(generation_mode=mode))
        @settings(
            max_examples=EXAMPLES,
            deadline=None,
            database=None,
            derandomize=True,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        def say(case: Case[Any]) -> None:
            for role in ("", *ROLES):
                _say(server, cook, case, role)

        say()


def _say(server: Served, cook: Cook, case: Case[Any], role: str) -> None:
    response = case.call(
        base_url=server.url,
        headers=headers(server),
        cookies=cookies(server, cook.token(role)),
        timeout=10,
    )
    case.validate_response(response, checks=TRUE)
    wrong = case.meta and any(
        info.mode == GenerationMode.NEGATIVE
        for place, info in case.meta.components.items()
        if place in (ParameterLocation.BODY, ParameterLocation.QUERY, ParameterLocation.PATH)
    )
    assert not wrong or response.status_code >= 400, (role, case.as_curl_command())
