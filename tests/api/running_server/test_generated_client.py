"""A client that openapi-python-client writes from the OpenAPI document, at a running house."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pkgutil import walk_packages
from typing import TYPE_CHECKING, Any, Final

import msgspec
import pytest

from tests.contract import adapter

if TYPE_CHECKING:
    from pathlib import Path

    from tests.api.live_server import LiveServer

PACKAGE: Final = "threedice_house_api_client"
OPERATIONS: Final = f"{PACKAGE}.api.default"


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Generate a client, and fail on every part of the document that is left out."""
    folder = tmp_path_factory.mktemp("generated")
    document, config = folder / "openapi.json", folder / "config.yaml"
    document.write_bytes(msgspec.json.encode(adapter.openapi_document()))
    config.write_text("post_hooks: []\n")
    generate = [sys.executable, "-m", "openapi_python_client", "generate", "--fail-on-warning"]
    done = subprocess.run(
        [*generate, "--path", document, "--config", config, "--output-path", folder / "client"],
        check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "client"


@pytest.fixture
def client_modules(generated: Path, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Import every module of the generated client, and return their names."""
    monkeypatch.syspath_prepend(str(generated))
    package = import_module(PACKAGE)
    names = {each.name for each in walk_packages(package.__path__, f"{PACKAGE}.")}
    for name in names:
        import_module(name)
    return names


def test_every_operation_and_schema_is_in_the_generated_client(client_modules: set[str]) -> None:
    document = adapter.openapi_document()
    operations = [each for methods in document["paths"].values() for each in methods.values()]
    written = {name.removeprefix(f"{OPERATIONS}.") for name in client_modules if OPERATIONS in name}
    models = set(import_module(f"{PACKAGE}.models").__all__)

    assert written >= {each["operationId"].replace("-", "_") for each in operations}
    assert {"PingMessage", "PlaceBet", "BetPlaced", "HelloMessage"} <= models


@pytest.mark.anyio
async def test_generated_client_places_a_bet(server: LiveServer, client_modules: set[str]) -> None:
    def operation(name: str) -> Any:
        assert f"{OPERATIONS}.{name}" in client_modules
        return import_module(f"{OPERATIONS}.{name}").asyncio

    models = import_module(f"{PACKAGE}.models")
    await server.seat(ann=1000)
    await server.play("open betting")
    client = import_module(PACKAGE).AuthenticatedClient(
        base_url=server.origin, token=server.create_token("ann", "player", ["read", "play"])
    )

    async with client:
        who = await operation("show_session")(client=client)
        bet = {"type": "PlaceBet", "player": who.account, "box": "big", "amount": 50}
        result = await operation("send_command")(
            server.table,
            client=client,
            body=models.PlaceBet.from_dict(bet),
            idempotency_key="first",
        )
        view = await operation("show_table")(server.table, client=client)
        refused = await operation("send_command")(
            server.table, client=client, idempotency_key="second",
            body=models.PlaceBet.from_dict(bet | {"box": "bigger"}),
        )  # fmt: skip

    assert [type(each) for each in result.events] == [models.BetPlaced]
    assert (result.events[0].player, result.events[0].amount) == (who.account, 50)
    assert view.version == result.version
    assert isinstance(refused, models.Problem)
    assert refused.code == "bet/unknown-box"
