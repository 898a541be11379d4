"""Commands, options, machine-readable output and exit codes are as recorded."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract import cli, files

RECORDED_COMMANDS = files.read(cli.COMMANDS)
RECORDED_OUTPUTS = files.read(cli.OUTPUTS)["outputs"]


def test_commands_are_the_recorded_ones() -> None:
    assert sorted(cli.commands()) == sorted(RECORDED_COMMANDS)


@pytest.mark.parametrize("name", sorted(RECORDED_COMMANDS))
def test_parameters_are_unchanged(name: str) -> None:
    assert cli.commands()[name] == RECORDED_COMMANDS[name]


@pytest.fixture(scope="module")
def current() -> dict[str, Any]:
    return cli.outputs()


def test_every_output_is_recorded(current: dict[str, Any]) -> None:
    assert sorted(current) == sorted(RECORDED_OUTPUTS)


@pytest.mark.parametrize("name", sorted(RECORDED_OUTPUTS))
def test_output_is_unchanged(current: dict[str, Any], name: str) -> None:
    assert current[name] == RECORDED_OUTPUTS[name]
