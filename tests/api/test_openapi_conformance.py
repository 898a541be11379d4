"""The application conforms to its OpenAPI document, for every operation and every role."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
import schemathesis
from anyio.from_thread import start_blocking_portal
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.core.parameters import ParameterLocation
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.api.house_app import DEALER, SUPERVISOR, open_house_app, seat_players
from tests.api.operation_requests import RequestBuilder
from tests.waiting import TIMEOUT_SECONDS
from threedice.account.commands import OpenAccount
from threedice.api.app import API_HANDLERS
from threedice.api.auth.authorisation import ANYONE, OPERATION_PERMISSIONS
from threedice.api.listener import HouseServer, ListenAddress, bind_socket, uvicorn_config
from threedice.identity import ROLES
from threedice.table import commands

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from schemathesis import Case

    from tests.api.house_app import HouseApp

CONFORMANCE = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
OPERATION_IDS = [each.name or "" for each in API_HANDLERS]
WITHOUT_INPUT = ("read-openapi", "verify-log")
EXAMPLES = 4


@dataclass
class ServedApp:
    """A house and the URL of the server in front of it."""

    house: HouseApp
    url: str


@pytest.fixture(scope="module")
def server() -> Iterator[ServedApp]:
    """Serve a house in play by uvicorn, in the event loop of another thread."""
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(serve_app()) as served,
    ):
        yield served


@asynccontextmanager
async def serve_app() -> AsyncIterator[ServedApp]:
    with bind_socket(ListenAddress(port=0)) as listening_socket:
        url = f"http://127.0.0.1:{listening_socket.getsockname()[1]}"
        async with open_house_app(origins=(url,)) as house:
            await seat_players(house, betting=False)
            house.assign("dealer")
            house.assign("supervisor")
            bell = commands.RegisterPiece(by=SUPERVISOR, piece="bell-1", kind="bell")
            await house.handler.handle(bell, table="1", account="console", key="bell")
            betting = commands.OpenBetting(by=DEALER)
            await house.handler.handle(betting, table="1", account="console", key="betting")
            house.assign("game-supervisor")
            account = OpenAccount(by="console", player=house.id("player"), currency="SGD")
            await house.handler.handle(account, account="console", key="account")
            started = asyncio.Event()
            config = uvicorn_config(house.app, ListenAddress(port=0))
            running = HouseServer(config, on_start=started.set, on_stop=house.context.hub.close)
            task = asyncio.create_task(running.serve(sockets=[listening_socket]))
            await started.wait()
            yield ServedApp(house, url)
            running.should_exit = True
            await task


@pytest.fixture(scope="module")
def operations(server: ServedApp) -> dict[str, Any]:
    """Read the operations from the document that the server publishes."""
    schema = schemathesis.openapi.from_dict(httpx.get(f"{server.url}/api/openapi.json").json())
    results: list[Any] = list(schema.get_all_operations())
    found = [result.ok() for result in results]
    return {each.definition.raw["operationId"]: each for each in found}


def cookies(server: ServedApp, token: str) -> dict[str, str]:
    return {server.house.context.cookie_name: token} if token else {}


def headers(server: ServedApp, key: str = "") -> dict[str, str]:
    keyed = {"Idempotency-Key": key} if key else {}
    return {"Origin": server.url, **keyed}


REFUSED_BY_THE_RULEBOOK = {
    ("send-command", "game-supervisor"),
    ("approve-request", "game-supervisor"),
}
"""Operations of a role that the rulebook of the table does not have."""


def permitted_roles(name: str) -> tuple[str, ...]:
    """Return the roles that may call an operation; an empty role is an anonymous caller."""
    permission = OPERATION_PERMISSIONS[name]
    if ANYONE in permission.roles:
        return ("", *ROLES)
    return tuple(role for role in ROLES if role in permission.roles)


def roles_with_distinct_responses(name: str) -> tuple[str, ...]:
    """Return the permitted roles, one that is not, and an anonymous caller.

    Callers without permission are refused before the input is read, all in the same way, and an
    operation that is open to anyone does not look at the role.
    """
    permitted = permitted_roles(name)
    if "" in permitted:
        return ("", ROLES[0])
    refused = [role for role in ROLES if role not in permitted]
    return ("", *permitted, *refused[:1])


def test_openapi_document_lists_every_operation(operations: dict[str, Any]) -> None:
    assert sorted(operations) == sorted(OPERATION_IDS)


@pytest.mark.parametrize("name", OPERATION_IDS)
def test_every_permitted_role_gets_a_documented_success(
    server: ServedApp, operations: dict[str, Any], name: str
) -> None:
    builder, operation = RequestBuilder(server.house), operations[name]
    for role in permitted_roles(name):
        if (name, role) in REFUSED_BY_THE_RULEBOOK:
            continue
        request = builder.build(name, role)
        names = {part.name for part in operation.path_parameters}
        kwargs: dict[str, Any] = {} if request.body is None else {"body": request.body}
        if kwargs:
            kwargs["media_type"] = "application/json"
        case = operation.Case(
            path_parameters={part: request.path[part] for part in names},
            query=request.query,
            headers=headers(server, request.key),
            cookies=cookies(server, request.token),
            **kwargs,
        )
        response = case.call(base_url=server.url)
        assert 200 <= response.status_code < 300, (role, response.text)
        case.validate_response(response, checks=CONFORMANCE)


@pytest.mark.parametrize("name", [each for each in OPERATION_IDS if each not in WITHOUT_INPUT])
def test_generated_requests_get_documented_responses(
    server: ServedApp, operations: dict[str, Any], name: str
) -> None:
    builder, operation = RequestBuilder(server.house), operations[name]
    modes = [GenerationMode.POSITIVE]
    if operation.body or operation.query:
        modes.append(GenerationMode.NEGATIVE)
    for mode in modes:

        @given(case=operation.as_strategy(generation_mode=mode))
        @settings(
            max_examples=EXAMPLES,
            deadline=None,
            database=None,
            derandomize=True,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        def check(case: Case[Any]) -> None:
            for role in roles_with_distinct_responses(name):
                call_and_validate(server, builder, case, role)

        check()


def call_and_validate(
    server: ServedApp, builder: RequestBuilder, case: Case[Any], role: str
) -> None:
    response = case.call(
        base_url=server.url,
        headers=headers(server),
        cookies=cookies(server, builder.token(role)),
        timeout=TIMEOUT_SECONDS,
    )
    case.validate_response(response, checks=CONFORMANCE)
    sent = parse_qs(urlsplit(str(response.request.url)).query, keep_blank_values=True)
    if set(case.query or ()) - set(sent):  # an empty list or object: what was invalid is not sent
        return
    invalid = case.meta and any(
        info.mode == GenerationMode.NEGATIVE
        for place, info in case.meta.components.items()
        if place in (ParameterLocation.BODY, ParameterLocation.QUERY, ParameterLocation.PATH)
    )
    assert not invalid or response.status_code >= 400, (role, case.as_curl_command())
