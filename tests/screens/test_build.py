"""The build of the screens: its size, its types, its languages, its place in a wheel."""

from __future__ import annotations

import gzip
import json
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
MOST = 75_000
"""Bytes of JavaScript that a page may load, compressed."""

MOST_TEXTS = 20_000
"""Bytes of the texts of one language, compressed."""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A build of the screens, apart from the one in the package."""
    folder = tmp_path_factory.mktemp("screens")
    build.build(folder)
    return folder


def manifest(built: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((built / ".vite" / "manifest.json").read_text())
    return found


def with_imports(part: str, told: dict[str, Any]) -> set[str]:
    """Return a part and everything that comes with it at once."""
    seen: set[str] = set()
    waiting = [part]
    while waiting:
        each = waiting.pop()
        if each not in seen:
            seen.add(each)
            waiting += told[each].get("imports", [])
    return seen


def loads(
    part: str, before: frozenset[str], told: dict[str, Any], others: set[str]
) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield what is loaded once a part is, and once each part that is opened from it is.

    A dialog or a tab is counted with all on the way to it: the shell, the page, the tab it is on.
    """
    here = with_imports(part, told) - before
    loaded = before | here
    yield part, loaded
    wanted = {later for each in here for later in told[each].get("dynamicImports", [])}
    for later in sorted(wanted - others - loaded):
        yield from loads(later, loaded, told, others)


def scripts(parts: Iterable[str], told: dict[str, Any], built: Path) -> int:
    """Return how many bytes of JavaScript these are, compressed."""
    files = {told[each]["file"] for each in parts}
    return sum(compressed(built / file) for file in files if file.endswith(".js"))


def compressed(file: Path) -> int:
    return len(gzip.compress(file.read_bytes()))


def loads_by_page(told: dict[str, Any]) -> dict[str, list[tuple[str, frozenset[str]]]]:
    shell = next(name for name, each in told.items() if each.get("isEntry"))
    pages = set(told[shell]["dynamicImports"])
    assert len(pages) > 5
    base = frozenset(with_imports(shell, told))
    return {page: list(loads(page, base, told, pages | {shell})) for page in sorted(pages)}


def test_javascript_of_every_page_is_within_the_size_budget(
    built: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A page as it opens, and with any one of its dialogs, tabs or other parts that come later.

    The size of a page with all its parts is printed after it.
    """
    told = manifest(built)
    most = {}
    for page, found in loads_by_page(told).items():
        sizes = [(scripts(loaded, told, built), part) for part, loaded in found]
        most[page] = max(sizes)
        every = scripts({each for _, loaded in found for each in loaded}, told, built)
        with capsys.disabled():
            print(  # noqa: T201
                f"\n{Path(page).stem}: {sizes[0][0]:,} bytes of JavaScript, compressed; at most "
                f"{most[page][0]:,} with {Path(most[page][1]).stem}, {every:,} with every part",
                end="",
            )
    assert {page: each for page, each in most.items() if each[0] > MOST} == {}


def test_texts_of_every_language_are_within_the_size_budget(built: Path) -> None:
    sizes = {each.name: compressed(each) for each in (built / "assets").glob("*.json")}
    assert len(sizes) == 3
    assert {name: size for name, size in sizes.items() if size > MOST_TEXTS} == {}


def test_typescript_types_match_the_openapi_document(tmp_path: Path) -> None:
    api_types.write(tmp_path / "schema.d.ts")

    assert (tmp_path / "schema.d.ts").read_text() == api_types.TYPES.read_text(), (
        "the API has changed: run `make screens`"
    )


def test_built_files_name_no_other_host(built: Path) -> None:
    """No address of another host in what is built, but for the names of SVG and such."""
    names = ("http://www.w3.org/", "https://svelte.dev/e/")
    for file in built.rglob("*"):
        if file.suffix in {".js", ".css", ".html"}:
            text = file.read_text()
            for name in names:
                text = text.replace(name, "")
            assert "http://" not in text, file
            assert "https://" not in text, file
    assert "resolved" not in (build.SOURCES / "package-lock.json").read_text()


def test_wheel_contains_the_built_screens(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation",
         "--wheel-dir", str(tmp_path), str(ROOT)],
        check=True,
    )  # fmt: skip
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        names = set(packed.namelist())
    assert "threedice/api/screens/index.html" in names
    assert any(name.startswith("threedice/api/screens/assets/index-") for name in names)
    assert not any("node_modules" in name for name in names)
