"""The registry of lazily imported commands agrees with the commands."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

import pytest
from typer.main import get_group

from threedice.cli.app import COMMANDS, load_command

if TYPE_CHECKING:
    from tests.cli.conftest import Run


@pytest.mark.parametrize("name", COMMANDS)
def test_summary_is_the_first_line_of_the_commands_help(name: str) -> None:
    assert COMMANDS[name].summary == load_command(name).help.splitlines()[0]


@pytest.mark.parametrize("group", ["", "rulebooks", "log", "house", "users", "keys"])
def test_no_summary_in_a_list_of_commands_is_cut_off(
    group: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")

    result = run(*group.split(), "--help")

    assert "Commands:" in result.out
    assert "..." not in result.out.partition("Commands:")[2]


@pytest.mark.parametrize("module", sorted({each.module for each in COMMANDS.values()}))
def test_every_command_of_a_module_is_registered(module: str) -> None:
    commands = get_group(import_module(f"threedice.cli.{module}").commands).commands

    assert set(commands) == {name for name, each in COMMANDS.items() if each.module == module}
