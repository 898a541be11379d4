"""The architecture page names existing modules, in an order that follows their imports."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Final

import grimp
import pytest
from tools.metrics import LEGS, posting_places, repeated_classes, walk_of_a_bet

ROOT: Final = Path(__file__).parents[1]
WALK: Final = walk_of_a_bet(ROOT)
ENTRY_POINTS: Final = frozenset(
    {
        "api/protocols",  # uvicorn's protocol classes
        "api/http/middleware",  # the outermost ASGI application
        "api/auth/authentication",  # a hook, which api/app registers
        "api/routes/commands",  # a route handler, which api/app registers
    }
)


@cache
def import_graph() -> grimp.ImportGraph:
    graph = grimp.build_graph("threedice")
    for imported in graph.find_modules_directly_imported_by("threedice"):
        # The public namespace imports every part on first use.
        graph.remove_import(importer="threedice", imported=imported)
    return graph


def module_name(step: str) -> str:
    return f"threedice.{step.replace('/', '.')}".removesuffix(".__init__")


def python_steps(leg: list[str]) -> list[str]:
    return [step for step in leg if not step.startswith("screens/")]


def imports(importer: str, imported: str) -> bool:
    """Return whether a module imports another, directly or through others."""
    return import_graph().chain_exists(module_name(importer), module_name(imported))


def test_walk_of_a_bet_has_all_its_legs() -> None:
    assert len(WALK) == len(LEGS)
    assert all(len(leg) > 5 for leg in WALK)


@pytest.mark.parametrize("step", [step for leg in WALK for step in leg])
def test_every_module_of_the_walk_of_a_bet_exists(step: str) -> None:
    path = ROOT / step if step.startswith("screens/") else ROOT / f"src/threedice/{step}.py"
    assert path.is_file()


def test_one_module_knows_the_amounts_that_an_event_moves() -> None:
    places = posting_places(sorted((ROOT / "src").rglob("*.py")))

    assert {event for event, count in places.items() if count > 1} == set()


def test_modules_before_the_acknowledgement_are_imported_by_an_earlier_step() -> None:
    steps = python_steps(WALK[0])
    unreached = [
        step
        for place, step in enumerate(steps)
        if step not in ENTRY_POINTS and not any(imports(each, step) for each in steps[:place])
    ]
    assert unreached == []


def test_modules_after_the_acknowledgement_are_connected_by_imports_to_an_earlier_step() -> None:
    steps = [step for leg in WALK for step in python_steps(leg)]
    first = len(python_steps(WALK[0]))
    apart = [
        step
        for place, step in enumerate(steps)
        if place >= first
        and not any(imports(each, step) or imports(step, each) for each in steps[:place])
    ]
    assert apart == []


def test_every_file_named_on_the_architecture_page_exists() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:[a-z_]+/)+[a-z_]+\.py)`", page))
    assert len(named) > 15
    missing = [
        each
        for each in named
        if not ((ROOT / "src/threedice" / each).is_file() or (ROOT / each).is_file())
    ]
    assert missing == []


def test_class_names_are_unique() -> None:
    assert repeated_classes(sorted((ROOT / "src").rglob("*.py"))) == []


CONNECTS_TO_SQLITE: Final = frozenset(
    {
        "db/sqlite.py",  # the only one that writes to the file of a house
        "db/sqlite_read_only.py",
        "house/backup/create.py",  # reads its own copy
        "log/stores/memory.py",
        "log/stores/sqlite_rows.py",  # reads, and keeps others from committing meanwhile
        "log/stores/table_copies.py",  # new files that nobody else uses
    }
)


def test_only_the_database_layer_connects_to_the_file_of_a_house() -> None:
    source = ROOT / "src" / "threedice"
    connecting = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*.py")
        if "sqlite3.connect(" in path.read_text(encoding="utf-8")
    }
    assert connecting <= CONNECTS_TO_SQLITE
