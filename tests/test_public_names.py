"""Public names of the package: complete, lazily imported, and enough for the README."""

from __future__ import annotations

import re
from pathlib import Path

import threedice
import threedice.cases
import threedice.odds
import threedice.rulebook

README = Path(__file__).parents[1] / "README.md"


def test_every_public_name_can_be_imported() -> None:
    assert all(getattr(threedice, name) is not None for name in dir(threedice))
    assert set(threedice.__all__) <= set(dir(threedice))


def test_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(threedice, "no_such_name")


def test_public_names_of_the_parts_are_public_names_of_the_package() -> None:
    of_parts = {*threedice.odds.__all__, *threedice.rulebook.__all__, *threedice.cases.__all__}
    internal = {"CaseContext", "from_canonical", "parse_line"}

    assert of_parts - internal <= set(threedice.__all__)


def test_readme_imports_nothing_but_the_package() -> None:
    code = re.findall(r"^(?:>>>|\.\.\.) (.*)$", README.read_text(encoding="utf-8"), re.MULTILINE)
    imported = [line for line in code if re.match(r"\s*(import|from) ", line)]

    assert [line for line in imported if "threedice" in line] == ["import threedice as td"]


def test_readme_uses_only_public_names() -> None:
    used = set(re.findall(r"\btd\.(\w+)", README.read_text(encoding="utf-8")))

    assert len(used) > 15
    assert used <= set(dir(threedice))
