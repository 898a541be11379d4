"""The build of the screens: size budgets, types of the API, and its place in a wheel."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from screens import api_types, build

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT = Path(__file__).parent.parent.parent
SCRIPT_BUDGET = 75_000
"""Bytes of JavaScript that a page may load, compressed."""

TEXT_BUDGET = 32_000
"""Bytes of the texts of one language, compressed."""

Manifest = dict[str, dict[str, Any]]
Load = tuple[str, frozenset[str]]
"""A chunk, and all chunks that are loaded once it is open."""


@pytest.fixture(scope="module")
def manifest() -> Manifest:
    """Return Vite's manifest: chunks by source file, with their imports."""
    found: Manifest = json.loads((build.BUILT / ".vite" / "manifest.json").read_text())
    return found


def test_javascript_of_every_page_is_within_the_size_budget(
    manifest: Manifest, capsys: pytest.CaptureFixture[str]
) -> None:
    """Measure each page as it opens, and with each dialog, tab or other part loaded later."""
    largest = {}
    for page, loads in loads_by_page(manifest).items():
        sizes = [(script_size(loaded, manifest), chunk) for chunk, loaded in loads]
        largest[page] = max(sizes)
        every = script_size({each for _, loaded in loads for each in loaded}, manifest)
        with capsys.disabled():
            size, chunk = largest[page]
            print(  # noqa: T201
                f"\n{Path(page).stem}: {sizes[0][0]:,} bytes of JavaScript, compressed; at most "
                f"{size:,} with {Path(chunk).stem}, {every:,} with every part",
                end="",
            )
    assert {page: each for page, each in largest.items() if each[0] > SCRIPT_BUDGET} == {}


def loads_by_page(manifest: Manifest) -> dict[str, list[Load]]:
    shell = next(name for name, chunk in manifest.items() if chunk.get("isEntry"))
    pages = set(manifest[shell]["dynamicImports"])
    assert len(pages) > 5
    base = frozenset(static_imports(shell, manifest))
    return {page: list(iter_loads(page, base, manifest, pages | {shell})) for page in sorted(pages)}


def iter_loads(
    chunk: str, before: frozenset[str], manifest: Manifest, others: set[str]
) -> Iterator[Load]:
    """Yield what is loaded when a chunk is open, then for each chunk that is opened from it.

    A dialog or a tab is counted with everything on the way to it: the shell, the page, its tab.
    """
    added = static_imports(chunk, manifest) - before
    loaded = before | added
    yield chunk, loaded
    dynamic = {later for each in added for later in manifest[each].get("dynamicImports", [])}
    for later in sorted(dynamic - others - loaded):
        yield from iter_loads(later, loaded, manifest, others)


def static_imports(chunk: str, manifest: Manifest) -> set[str]:
    """Return a chunk and all chunks that are loaded together with it."""
    found: set[str] = set()
    queue = [chunk]
    while queue:
        each = queue.pop()
        if each not in found:
            found.add(each)
            queue += manifest[each].get("imports", [])
    return found


def script_size(chunks: Iterable[str], manifest: Manifest) -> int:
    files = {manifest[each]["file"] for each in chunks}
    return sum(compressed_size(build.BUILT / file) for file in files if file.endswith(".js"))


def compressed_size(file: Path) -> int:
    return len(gzip.compress(file.read_bytes()))


def test_texts_of_every_language_are_within_the_size_budget() -> None:
    files = (build.BUILT / "assets").glob("*.json")
    sizes = {each.name: compressed_size(each) for each in files}
    assert len(sizes) == 3
    assert {name: size for name, size in sizes.items() if size > TEXT_BUDGET} == {}


def test_typescript_types_match_the_openapi_document(tmp_path: Path) -> None:
    api_types.write(tmp_path / "schema.d.ts")

    assert (tmp_path / "schema.d.ts").read_text() == api_types.TYPES.read_text(), (
        "the API has changed: run `make screens`"
    )


def test_package_lock_names_no_registry() -> None:
    assert "resolved" not in (build.SOURCES / "package-lock.json").read_text()


def test_wheel_contains_the_built_screens(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    for folder in ("src", "screens"):
        ignored = shutil.ignore_patterns("node_modules", "__pycache__")
        shutil.copytree(ROOT / folder, copy / folder, ignore=ignored)
    for file in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE", ".gitignore"):
        shutil.copy(ROOT / file, copy)
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation",
         "--wheel-dir", str(tmp_path), str(copy)],
        check=True,
    )  # fmt: skip
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        names = set(packed.namelist())
    assert "threedice/api/screens/index.html" in names
    assert any(name.startswith("threedice/api/screens/assets/index-") for name in names)
    assert not any("node_modules" in name for name in names)
