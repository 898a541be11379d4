"""The pages about adding a command and a query are complete: applied to a copy, they work."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "docs" / "contributing"
SECTION = re.compile(r"^## \d+\. [^`\n]*`([^`]+)`$", re.MULTILINE)
BLOCK = re.compile(r"^```(diff|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MOST_FILES_OF_A_COMMAND = 8

PERMISSIONS = (
    "tests/api/test_authorisation.py"
    "::test_every_table_command_is_open_to_exactly_its_permitted_roles"
)
CHECKS = (
    "tests/api/test_notes.py",
    "tests/api/test_round_count.py",
    "tests/api/test_authorisation.py::test_every_command_declares_its_facts",
    f"{PERMISSIONS}[player]",
    f"{PERMISSIONS}[dealer]",
    "tests/api/test_authority.py::test_table_of_authority_is_the_golden_copy",
    "tests/api/test_live_audience.py::test_every_event_declares_its_audience",
    "tests/api/test_reference.py",
    "tests/contract/test_log_bytes.py",
    "tests/table/test_decide.py",
)


def sections(page: str) -> dict[str, tuple[str, str]]:
    """Return the language and the text of the block of each file on a page."""
    _, *parts = SECTION.split((PAGES / page).read_text(encoding="utf-8"))
    blocks = {}
    for file, text in zip(parts[::2], parts[1::2], strict=True):
        ((language, block),) = BLOCK.findall(text.partition("\n## ")[0])
        blocks[file] = (language, block)
    return blocks


def apply(diff: str, text: str) -> str:
    """Apply the hunks of a diff, each found by its lines, which occur only once."""
    for hunk in diff.split("@@\n")[1:]:
        lines = [line if line.strip() else " \n" for line in hunk.splitlines(keepends=True)]
        old = "".join(line[1:] for line in lines if line[0] != "+")
        new = "".join(line[1:] for line in lines if line[0] != "-")
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def run(folder: Path, *arguments: str) -> None:
    environment = os.environ | {"PYTHONPATH": f"{folder / 'src'}{os.pathsep}{folder}"}
    done = subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-5000:]


def test_the_worked_examples_work_when_their_pages_are_followed(tmp_path: Path) -> None:
    command, query = sections("add-a-command.md"), sections("add-an-api-query.md")
    assert 0 < len(command) <= MOST_FILES_OF_A_COMMAND
    unused = shutil.ignore_patterns("__pycache__", "node_modules", "pictures")
    for part in ("src", "tests", "docs", "screens"):
        shutil.copytree(ROOT / part, tmp_path / part, ignore=unused)
    for name in ("CHANGELOG.md", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)

    for file, (language, block) in [*command.items(), *query.items()]:
        changed = tmp_path / file
        text = changed.read_text(encoding="utf-8") if language == "diff" else ""
        changed.write_text(apply(block, text) if text else block, encoding="utf-8")
    run(tmp_path, "tests.contract.record", "openapi", "log")
    run(tmp_path, "tests.api.test_reference")
    run(tmp_path, "tests.api.test_authority")

    run(tmp_path, "pytest", "-q", "-p", "no:cacheprovider", *CHECKS)
    document = (tmp_path / "tests/contract/recorded/openapi.json").read_text(encoding="utf-8")
    assert '"RecordNote"' in document
    assert '"count-rounds"' in document
