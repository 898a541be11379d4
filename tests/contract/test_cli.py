"""Commands, options, machine-readable output and exit codes are as recorded."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract import cli, recordings

RECORDED_COMMANDS = recordings.read(cli.COMMANDS)
RECORDED_OUTPUTS = recordings.read(cli.OUTPUTS)["outputs"]


@pytest.fixture(scope="module")
def commands() -> dict[str, Any]:
    return cli.commands()


@pytest.fixture(scope="module")
def outputs() -> dict[str, Any]:
    return cli.outputs()


def test_cli_has_the_recorded_commands(commands: dict[str, Any]) -> None:
    assert sorted(commands) == sorted(RECORDED_COMMANDS)


@pytest.mark.parametrize("name", sorted(RECORDED_COMMANDS))
def test_cli_command_has_the_recorded_parameters(commands: dict[str, Any], name: str) -> None:
    assert commands[name] == RECORDED_COMMANDS[name]


def test_every_cli_output_is_recorded(outputs: dict[str, Any]) -> None:
    assert sorted(outputs) == sorted(RECORDED_OUTPUTS)


@pytest.mark.parametrize("name", sorted(RECORDED_OUTPUTS))
def test_cli_output_is_as_recorded(outputs: dict[str, Any], name: str) -> None:
    assert outputs[name] == RECORDED_OUTPUTS[name]
