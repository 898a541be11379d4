"""Version and build."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from threedice.version import PACKAGE, build_id

if TYPE_CHECKING:
    from pathlib import Path


def copy_package(folder: Path) -> Path:
    return shutil.copytree(PACKAGE / "db", folder, ignore=shutil.ignore_patterns("__pycache__"))


def test_build_is_that_of_the_files_wherever_they_are_installed(tmp_path: Path) -> None:
    one, two = copy_package(tmp_path / "one"), copy_package(tmp_path / "two")
    (two / "__pycache__").mkdir()
    (two / "__pycache__" / "schema.cpython-311.pyc").write_bytes(b"compiled")

    assert build_id(one) == build_id(two)


@pytest.mark.parametrize("name", ["schema.py", "migrations/0001.sqlite.sql"])
def test_changed_file_gives_another_build(tmp_path: Path, name: str) -> None:
    one, two = copy_package(tmp_path / "one"), copy_package(tmp_path / "two")
    with (two / name).open("a", encoding="utf-8") as changed:
        changed.write("\n")

    assert build_id(one) != build_id(two)


def test_renamed_file_gives_another_build(tmp_path: Path) -> None:
    one, two = copy_package(tmp_path / "one"), copy_package(tmp_path / "two")
    (two / "schema.py").rename(two / "scheme.py")

    assert build_id(one) != build_id(two)
