"""What is built: small enough, with the API's own types, in three languages, installable."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from screens import api_types, build

if TYPE_CHECKING:
    import pytest

ROOT = Path(__file__).parent.parent.parent
MOST = 60_000
"""Bytes of JavaScript that a page may load, compressed."""

TELL_TEXTS = """
globalThis.$state = (value) => value;
const found = {};
for (const file of process.argv.slice(1)) {
  const module = await import(file);
  for (const [name, say] of Object.entries(module))
    if (say && say.all) found[`${file} ${name}`] = say.all;
}
console.log(JSON.stringify(found));
"""


def manifest() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((build.BUILT / ".vite" / "manifest.json").read_text())
    return found


def loaded_by(page: str, told: dict[str, Any], others: set[str]) -> set[str]:
    """Return all that a page may ever load, but for other pages."""
    seen: set[str] = set()
    waiting = [page]
    while waiting:
        each = waiting.pop()
        if each in seen or (each in others and each != page):
            continue
        seen.add(each)
        waiting += told[each].get("imports", []) + told[each].get("dynamicImports", [])
    return seen


def test_no_page_loads_more_javascript_than_it_may(capsys: pytest.CaptureFixture[str]) -> None:
    build.build()
    told = manifest()
    shell = next(name for name, each in told.items() if each.get("isEntry"))
    pages = set(told[shell]["dynamicImports"])
    sizes = {}
    for page in pages:
        parts = {told[each]["file"] for each in loaded_by(page, told, pages | {shell})}
        parts.add(told[shell]["file"])
        sizes[page] = sum(
            len(gzip.compress((build.BUILT / part).read_bytes()))
            for part in parts
            if part.endswith(".js")
        )
    with capsys.disabled():
        told_sizes = ", ".join(f"{Path(page).stem} {size:,}" for page, size in sizes.items())
        print(f"\nJavaScript by page, compressed: {told_sizes} bytes")  # noqa: T201
    assert {page: size for page, size in sizes.items() if size > MOST} == {}


def test_the_types_are_those_of_the_api(tmp_path: Path) -> None:
    api_types.write(tmp_path / "schema.d.ts")

    assert (tmp_path / "schema.d.ts").read_text() == api_types.TYPES.read_text(), (
        "the API has changed: run `make screens`"
    )


def test_the_sources_hold_what_their_types_promise() -> None:
    build.install()
    build.run("node_modules/svelte-check/bin/svelte-check", "--fail-on-warnings")


def test_every_text_has_the_same_holes_in_every_language() -> None:
    files = [
        str(each)
        for each in sorted((build.SOURCES / "src").rglob("*.ts"))
        if "= texts(" in each.read_text()
    ]
    answer = subprocess.run(
        [build.node(), "--input-type=module", "-e", TELL_TEXTS, *files],
        check=True,
        capture_output=True,
        text=True,
    )
    told = json.loads(answer.stdout)

    assert len(told) >= len(files) > 1
    for place, languages in told.items():
        english = languages["en"]
        for language, texts in languages.items():
            assert texts.keys() == english.keys(), (place, language)
            for key, text in texts.items():
                assert text.strip(), (place, language, key)
                assert holes(text) == holes(english[key]), (place, language, key)


def holes(text: str) -> list[str]:
    return sorted({part.partition("}")[0] for part in text.split("{")[1:]})


def test_nothing_is_loaded_from_elsewhere() -> None:
    """No address of another host in what is built, but for the names of SVG and such."""
    names = ("http://www.w3.org/", "https://svelte.dev/e/")
    for file in build.BUILT.rglob("*"):
        if file.suffix in {".js", ".css", ".html"}:
            text = file.read_text()
            for name in names:
                text = text.replace(name, "")
            assert "http://" not in text, file
            assert "https://" not in text, file
    assert "resolved" not in (build.SOURCES / "package-lock.json").read_text()


def test_a_wheel_brings_the_screens(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation",
         "--wheel-dir", str(tmp_path), str(ROOT)],
        check=True,
    )  # fmt: skip
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        names = set(packed.namelist())
    assert "threedice/web/screens/index.html" in names
    assert any(name.startswith("threedice/web/screens/assets/index-") for name in names)
    assert not any("node_modules" in name for name in names)
