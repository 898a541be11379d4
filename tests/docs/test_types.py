"""The Python code of the documentation, as strict type checkers of its readers see it.

All blocks of a page are one module, with every line where the page has it; a checker runs once for
all pages. They find `threedice` among the installed packages, with its `py.typed`.
"""

from __future__ import annotations

import doctest
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Final

import pytest

from tests.docs.code_blocks import ROOT, Block, blocks, pages

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

BAD_BLOCK: Final = ">>> import threedice as td\n>>> td.load(1)\n"


def write_module(page: Path, code: Iterable[Block], folder: Path) -> None:
    """Write the Python blocks of a page, if it has any, as a module of the same lines."""
    lines: dict[int, str] = {}
    for block in code:
        if block.language == "python" and block.is_run:
            for first, source in _sources(block):
                lines |= enumerate(source.splitlines(), block.line + 1 + first)
    if lines:
        name = page.relative_to(ROOT).with_suffix("").as_posix().replace("/", "_").replace("-", "_")
        text = "".join(f"{lines.get(number, '')}\n" for number in range(1, max(lines) + 1))
        (folder / f"{name}.py").write_text(text, encoding="utf-8")


def _sources(block: Block) -> list[tuple[int, str]]:
    """Return the code of a block, without prompts and results, and its lines within the block."""
    examples = doctest.DocTestParser().get_examples(block.text)
    return [(each.lineno, each.source) for each in examples] or [(0, block.text)]


def run_mypy(folder: Path) -> subprocess.CompletedProcess[str]:
    cache = ROOT / ".mypy_cache" / "documentation"
    return _run("mypy", "--strict", "--no-pretty", f"--cache-dir={cache}", ".", folder=folder)


def run_pyright(folder: Path) -> subprocess.CompletedProcess[str]:
    settings = {"typeCheckingMode": "standard", "reportUnusedExpression": False}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    return _run("pyright", f"--pythonpath={sys.executable}", folder=folder)


def _run(checker: str, *options: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a checker as in a project of the reader; pyright brings itself, and Node is a package."""
    own = {"PYRIGHT_PYTHON_GLOBAL_NODE": "0", "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"}
    return subprocess.run(
        [sys.executable, "-m", checker, *options],
        cwd=folder, env=os.environ | own, capture_output=True, text=True, check=False,
    )  # fmt: skip


CHECKERS: Final = {"mypy": run_mypy, "pyright": run_pyright}


@pytest.mark.parametrize("checker", CHECKERS)
def test_code_of_the_documentation_passes_a_strict_type_checker(
    checker: str, tmp_path: Path
) -> None:
    for page in pages():
        write_module(page, blocks(page), tmp_path)

    done = CHECKERS[checker](tmp_path)

    assert len(list(tmp_path.glob("*.py"))) >= 13
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("checker", CHECKERS)
def test_error_of_a_type_is_found_at_the_line_of_the_page(checker: str, tmp_path: Path) -> None:
    write_module(ROOT / "README.md", [Block("python", BAD_BLOCK, "", 7)], tmp_path)

    done = CHECKERS[checker](tmp_path)

    assert done.returncode == 1, done.stderr
    assert "README.py:9:" in done.stdout
    assert done.stdout.count("README.py:") == 1
