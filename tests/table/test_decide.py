"""Every command has a handler."""

from __future__ import annotations

from typing import get_args

from threedice.table.commands import AnyCommand
from threedice.table.rules import HANDLERS


def test_every_command_has_a_handler() -> None:
    assert set(HANDLERS) == set(get_args(AnyCommand))
