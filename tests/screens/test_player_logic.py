"""The player's slip, pending chips, favourites, room and notices, run by Node as they stand."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from screens.build import node

CASES = Path(__file__).with_name("player_cases.mjs")
NAMES = re.findall(r"^  (\w+)\(\) \{$", CASES.read_text(), re.MULTILINE)


def test_there_are_cases() -> None:
    assert len(NAMES) >= 8


@pytest.mark.parametrize("name", NAMES)
def test_player(name: str) -> None:
    run = subprocess.run([node(), str(CASES), name], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
