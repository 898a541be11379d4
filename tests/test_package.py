"""The package as it is published: a source distribution, and the wheel that is built from it."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from email import message_from_bytes
from pathlib import Path
from typing import TYPE_CHECKING, Final
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement
from screens.build import is_built

import threedice
from threedice.version import build_id

if TYPE_CHECKING:
    from email.message import Message

ROOT: Final = Path(__file__).parents[1]
MAXIMUM_WHEEL_BYTES: Final = 1_500_000


def build(target: str, source: Path, into: Path) -> Path:
    """Build a distribution as the build backend does, with the screens as they are."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(into)],
        cwd=source, check=True, capture_output=True,
        env={**os.environ, "HATCH_BUILD_NO_HOOKS": "true"},
    )  # fmt: skip
    (built,) = into.iterdir()
    return built


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Unpack the source distribution into two folders."""
    folder = tmp_path_factory.mktemp("package")
    archive = build("sdist", ROOT, folder / "sdist")
    for name in ("one", "two"):
        with tarfile.open(archive) as packed:
            packed.extractall(folder / name, filter="data")
    return [folder / name / f"threedice-{threedice.__version__}" for name in ("one", "two")]


@pytest.fixture(scope="module")
def wheel(sources: list[Path]) -> Path:
    return build("wheel", sources[0], sources[0].parent / "dist")


def metadata(wheel: Path) -> Message:
    with ZipFile(wheel) as packed:
        (name,) = (each for each in packed.namelist() if each.endswith(".dist-info/METADATA"))
        return message_from_bytes(packed.read(name))


def test_wheel_is_reproducible(sources: list[Path], wheel: Path) -> None:
    again = build("wheel", sources[1], sources[1].parent / "dist")

    assert (again.name, again.read_bytes()) == (wheel.name, wheel.read_bytes())


def test_wheel_installs_the_build_that_its_source_has(
    sources: list[Path], wheel: Path, tmp_path: Path
) -> None:
    with ZipFile(wheel) as packed:
        packed.extractall(tmp_path)

    assert build_id(tmp_path / "threedice") == build_id(sources[0] / "src" / "threedice")


def test_source_distribution_needs_no_node_to_build_the_wheel(sources: list[Path]) -> None:
    code = "from screens.build import is_built; print(is_built())"
    completed = subprocess.run(
        [sys.executable, "-c", code], cwd=sources[0], check=True, capture_output=True, text=True
    )

    assert completed.stdout == f"{is_built()}\n"


def test_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    with ZipFile(wheel) as packed:
        names = packed.namelist()
    kept = {
        each.relative_to(ROOT / "src").as_posix()
        for each in (ROOT / "src" / "threedice").rglob("*")
        if each.is_file() and "__pycache__" not in each.parts and "screens" not in each.parts
    }

    assert {name.partition("/")[0] for name in names} == {
        "threedice",
        f"threedice-{threedice.__version__}.dist-info",
    }
    assert kept <= set(names)
    assert wheel.stat().st_size < MAXIMUM_WHEEL_BYTES


def test_wheel_requires_three_packages_without_extras(wheel: Path) -> None:
    requirements = metadata(wheel).get_all("Requires-Dist") or []
    plain = [each for each in requirements if "extra ==" not in each]

    assert [Requirement(each).name for each in plain] == ["msgspec", "rich", "typer"]
    assert {"house", "sim", "cluster", "gpu"} <= set(
        metadata(wheel).get_all("Provides-Extra") or ()
    )
