"""Responses of every operation to every role: status, headers and the shape of the body."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from tests.contract import adapter, openapi, recordings

if TYPE_CHECKING:
    import httpx

    from tests.api.house_app import HouseApp
    from tests.api.operation_requests import OperationRequest

FILE = "responses.json"
ROLES = (
    "anonymous", "player", "dealer", "supervisor", "pit-manager", "auditor", "administrator",
    "program", "shift-manager",
)  # fmt: skip
"""The shift manager comes last, because only they release a house that was suspended."""

PROGRAM_SCOPES = ("read", "play", "deal", "manage", "metrics")

EXTRAS: tuple[tuple[str, str, str, dict[str, Any]], ...] = (
    ("no such address", "GET", "/api/nothing", {}),
    ("another method", "DELETE", "/api/tables", {}),
    ("no JSON", "POST", "/api/tables/1/commands", {"content": b"{", "key": "x1"}),
    ("another content type", "POST", "/api/session", {"content": b"a=b", "kind": "text/plain"}),
    ("another form", "POST", "/api/session", {"json": {"name": 1}}),
    ("another origin", "POST", "/api/session", {"json": {}, "origin": "http://elsewhere.test"}),
    ("a wrong password", "POST", "/api/session", {"json": {"name": "x", "password": "y" * 12}}),
    ("a wrong query", "GET", "/api/tables/1/results?most=x", {}),
    ("an unknown table", "GET", "/api/tables/none", {}),
    ("an unknown game", "GET", "/api/rulebooks/none/a", {}),
    ("an unknown command", "POST", "/api/tables/1/commands", {"json": {"type": "X"}, "key": "x2"}),
    ("no key", "POST", "/api/tables/1/commands", {"json": {"type": "Throw"}}),
)
BETS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("bet below the minimum", {"box": "big", "amount": 1}),
    ("bet above the maximum", {"box": "big", "amount": 20_000_000}),
    ("bet on an unknown box", {"box": "biig", "amount": 5}),
    ("bet of more than the stack", {"box": "big", "amount": 5000}),
    ("bet of no amount", {"box": "big", "amount": 0}),
    ("bet for somebody else", {"box": "big", "amount": 5, "player": "somebody"}),
)


class Surveyor:
    """Sends requests to a house and summarises the responses."""

    def __init__(self, house: HouseApp) -> None:
        self.house, self.builder = house, adapter.RequestBuilder(house)
        document = openapi.normalise(adapter.openapi_document())
        self.operations: dict[str, Any] = openapi.inline_schemas(document)["operations"]
        account = house.id("shift-manager")
        made = house.identity.tokens.create(account, "board", PROGRAM_SCOPES)
        self.program = made.token

    async def request(self, address: str, role: str) -> dict[str, Any]:
        """Return the response of an operation to a role."""
        operation = self.operations[address]
        prepared = self.builder.build(operation["operationId"], self._recipe_role(operation, role))
        method, _, path = address.partition(" ")
        headers: dict[str, str] = {"Idempotency-Key": prepared.key} if prepared.key else {}
        headers |= self._credentials(role, prepared)
        response = await self.house.client(**headers).request(
            method, path.format_map(prepared.path), json=prepared.body, params=prepared.query
        )
        return self.summarise(response, operation)

    def _recipe_role(self, operation: dict[str, Any], role: str) -> str:
        """Return the role whose request is sent; anonymous users send that of an allowed role."""
        if role == "program":
            return "shift-manager"
        if role != "anonymous":
            return role
        people = [each for each in operation["x-roles"] if each in ROLES]
        return people[0] if people else "player"

    def _credentials(self, role: str, prepared: OperationRequest) -> dict[str, str]:
        if role == "anonymous":
            return {}
        if role == "program":
            return {"Authorization": f"Bearer {self.program}"}
        return {"Cookie": f"{self.house.context.cookie_name}={prepared.token}"}

    def summarise(self, response: httpx.Response, operation: dict[str, Any]) -> dict[str, Any]:
        """Return the part of a response that clients depend on."""
        summary: dict[str, Any] = {
            "status": response.status_code,
            "headers": sorted(set(response.headers) - {"content-length"}),
            "kind": response.headers.get("content-type", "").partition(";")[0],
        }
        if summary["kind"].endswith("json"):
            described = operation.get("responses", {}).get(str(response.status_code), {})
            schema = described.get("content", {}).get(summary["kind"], {}).get("schema", {})
            is_document = operation.get("operationId") == "read-openapi"
            summary["body"] = (
                "=openapi" if is_document else openapi.shape_of(response.json(), schema)
            )
        return summary

    async def request_extra(
        self, method: str, path: str, options: dict[str, Any]
    ) -> dict[str, Any]:
        """Return the response to a request that no operation expects."""
        headers = {"Idempotency-Key": options["key"]} if "key" in options else {}
        headers |= {"Content-Type": options.get("kind", "application/json")}
        headers |= {"Origin": options["origin"]} if "origin" in options else {}
        content = options.get(
            "content", json.dumps(options["json"]).encode() if "json" in options else None
        )
        client = self.house.client("player")
        response = await client.request(method, path, content=content, headers=headers)
        return self.summarise(response, {})

    async def bet(self, fields: dict[str, Any]) -> dict[str, Any]:
        """Return the response to a player's bet."""
        bet = {"type": "PlaceBet", "player": self.house.id("player"), **fields}
        return self.summarise(await self.house.send("player", bet), {})


def group_roles(responses: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the different responses, each with the roles that get it."""
    groups: dict[str, dict[str, Any]] = {}
    for role in ROLES:
        text = json.dumps(responses[role], sort_keys=True)
        groups.setdefault(text, {**responses[role], "roles": []})["roles"].append(role)
    return list(groups.values())


async def survey() -> dict[str, Any]:
    """Return all responses of a house in which a round was played and another is open."""
    async with adapter.open_house() as house:
        await adapter.play_first_round(house)
        surveyor = Surveyor(house)
        operations = {}
        for address in sorted(surveyor.operations):
            responses = {role: await surveyor.request(address, role) for role in ROLES}
            operations[address] = group_roles(responses)
        house.tokens.clear()  # some operations end sessions
        extras = {
            name: await surveyor.request_extra(method, path, options)
            for name, method, path, options in EXTRAS
        }
        extras |= {name: await surveyor.bet(fields) for name, fields in BETS}
        first = await house.send("dealer", {"type": "CloseBetting"}, key="same")
        again = await house.send("dealer", {"type": "Tumble", "times": 3}, key="same")
        extras["a key used again"] = surveyor.summarise(again, {})
        assert first.status_code == 200, first.text
        extras["a bet after the close"] = await surveyor.bet({"box": "big", "amount": 5})
    return {"operations": operations, "others": extras}


def record() -> None:
    """Record the responses to everybody."""
    recordings.write(FILE, asyncio.run(survey()))
