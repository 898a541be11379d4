"""Tests wait for conditions, not for a time: how fast the machine is decides no test."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from tests.waiting import TIMEOUT_SECONDS, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

TESTS: Final = Path(__file__).parent
SCREENS: Final = TESTS / "screens"
MAY_SLEEP: Final = {
    TESTS / "waiting.py",  # between two polls, for all others
    TESTS / "contract" / "old_house.py",  # records a database: a code of TOTP is accepted once
}
QUIETLY: Final = {"networkidle", "wait_for_timeout"}
"""Waits of Playwright for a time; pages that poll are never idle for long."""

READS: Final = {
    "all", "all_inner_texts", "all_text_contents", "bounding_box", "count", "get_attribute",
    "inner_text", "input_value", "is_checked", "is_disabled", "is_enabled", "is_hidden",
    "is_visible", "text_content",
}  # fmt: skip
"""Methods of Playwright that read a page once, although the page may be about to change."""

QUICK_DEALER: Final = re.compile(r"dealt_by_house = \{+ betting_seconds = (\d{1,2})\b")
"""A table whose rounds go on while a test presses and reads its page."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


def fixed_times(source: str) -> list[str]:
    """Return where a source sleeps, or limits a wait to less than all tests may take."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        name = ast.unparse(node.func)
        if name in {"sleep", "time.sleep"}:
            found.append(f"line {node.lineno}: {name}")
        limits = [each.value for each in node.keywords if each.arg == "timeout"]
        if name == "asyncio.timeout":
            limits += node.args
        elif name == "asyncio.wait_for":
            limits += node.args[1:]
        if any(isinstance(each, ast.Constant) and is_short(each.value) for each in limits):
            found.append(f"line {node.lineno}: {name} with a limit of its own")
    return found


def is_short(limit: object) -> bool:
    return isinstance(limit, (int, float)) and 0 < limit < TIMEOUT_SECONDS


def unsteady_reads(source: str) -> list[str]:
    """Return where a test of screens waits for a time, or reads a page that may still change."""
    found = [f"{each[0]} of {each[1]} s" for each in re.finditer(QUICK_DEALER, source)]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and node.attr in QUIETLY:
            found.append(f"line {node.lineno}: {node.attr}")
        elif isinstance(node, ast.Constant) and node.value in QUIETLY:
            found.append(f"line {node.lineno}: {node.value}")
        elif isinstance(node, Function) and node.name.startswith("test_"):
            found += [
                f"line {call.lineno}: .{call.func.attr}()"
                for call in direct_calls(node)
                if isinstance(call.func, ast.Attribute) and is_read(call, call.func)
            ]
    return found


def is_read(call: ast.Call, method: ast.Attribute) -> bool:
    """Return whether a call reads a page; lists and counters have a method `count` as well."""
    return method.attr in READS and not (method.attr in {"all", "count"} and call.args)


def direct_calls(function: Function) -> Iterator[ast.Call]:
    """Find the calls in a test that are made once; a function given to `assert_soon` is not."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Call):
            yield node
        if not isinstance(node, (ast.Lambda, ast.FunctionDef, ast.AsyncFunctionDef)):
            waiting += ast.iter_child_nodes(node)


def test_no_test_waits_for_a_fixed_time() -> None:
    found = {
        str(file.relative_to(TESTS)): times
        for file in sorted(TESTS.rglob("*.py"))
        if file not in MAY_SLEEP and (times := fixed_times(file.read_text(encoding="utf-8")))
    }

    assert found == {}


def test_tests_of_the_screens_wait_for_what_they_read() -> None:
    """Read by `expect`, `assert_soon`, `box_of` or `text_of`, and wait by `wait_until_loaded`."""
    files = sorted(SCREENS.rglob("*.py"))
    found = {
        file.name: reads
        for file in files
        if (reads := unsteady_reads(file.read_text(encoding="utf-8")))
    }

    assert len(files) > 30
    assert found == {}


@pytest.mark.parametrize(
    "source",
    [
        "time.sleep(0.01)",
        "sleep(1)",
        "async def wait():\n    async with asyncio.timeout(20):\n        pass",
        "await asyncio.wait_for(socket.recv(), 30)",
        "client.get('/', timeout=10)",
    ],
)
def test_source_with_a_fixed_time_is_refused(source: str) -> None:
    assert len(fixed_times(source)) == 1


@pytest.mark.parametrize(
    "source",
    [
        "page.wait_for_timeout(500)",
        "page.wait_for_load_state('networkidle')",
        "def test_list(page):\n    assert page.locator('li').count() == 3",
        "def test_list(page):\n    for each in page.locator('li').all():\n        each.click()",
        "def test_list(page):\n    assert page.locator('li').all_inner_texts() == ['a']",
        "TABLE = 'dealt_by_house = { betting_seconds = 2 }'",
    ],
)
def test_source_that_reads_a_page_too_early_is_refused(source: str) -> None:
    assert len(unsteady_reads(source)) == 1


@pytest.mark.parametrize(
    "source",
    [
        "def test_list(page):\n    assert_soon(page, lambda: page.locator('li').count(), 3)",
        "def test_kinds(kinds):\n    assert kinds.count('BetPlaced') == 1",
        "def texts_of(page):\n    return page.locator('li').all_inner_texts()",
        "TABLE = 'dealt_by_house = { betting_seconds = 600 }'",
        "async def wait():\n    async with asyncio.timeout(TIMEOUT_SECONDS):\n        pass",
    ],
)
def test_source_that_waits_for_a_condition_is_not_refused(source: str) -> None:
    assert fixed_times(source) == unsteady_reads(source) == []


def test_wait_ends_as_soon_as_the_condition_holds() -> None:
    answers = iter([False, False, True, False])

    wait_until(lambda: next(answers), lambda: "never")

    assert list(answers) == [False]
