"""The repository: sizes of files, the version, and the files that the documentation cites."""

from __future__ import annotations

import re
from importlib.metadata import version
from pathlib import Path

from tools.file_sizes import MAXIMUM_BYTES, too_large

import threedice

ROOT = Path(__file__).parents[1]
FOLDERS = "benchmarks", "docs", "screens/src", "src", "tests", "tools"
BUILT_SCREENS = ROOT / "src" / "threedice" / "api" / "screens"
TESTED = re.compile(r"tested (.*?)\|$", re.MULTILINE)
CITED_FILE = re.compile(r"`([\w./-]+\.(?:py|txt|toml|md))`")


def test_no_file_in_the_repository_is_over_500_kb() -> None:
    kept = [
        file
        for folder in FOLDERS
        for file in (ROOT / folder).rglob("*")
        if file.is_file() and not file.is_relative_to(BUILT_SCREENS)
    ]
    measurements = set(ROOT.glob(".coverage*"))  # of tests that run at the same time
    kept += [file for file in ROOT.iterdir() if file.is_file() and file not in measurements]

    assert len(kept) > 500
    assert too_large(kept) == []


def test_a_file_over_500_kb_is_refused_by_name(tmp_path: Path) -> None:
    small, large = tmp_path / "small", tmp_path / "large"
    small.write_bytes(bytes(MAXIMUM_BYTES))
    large.write_bytes(bytes(MAXIMUM_BYTES + 1))

    (complaint,) = too_large([small, large])

    assert complaint.startswith(f"{large} has 500,001 bytes")


def test_the_package_has_one_version() -> None:
    assert version("threedice") == threedice.__version__


def test_the_security_page_cites_only_files_that_exist() -> None:
    page = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    tests = {file for cell in TESTED.findall(page) for file in CITED_FILE.findall(cell)}
    cited = set(CITED_FILE.findall(page))

    missing = {file for file in tests if not (ROOT / "tests" / file).exists()}
    missing |= {
        file
        for file in cited - tests
        if not any((folder / file).exists() for folder in (ROOT, ROOT / "src" / "threedice"))
    }

    assert len(tests) > 10
    assert missing == set()
