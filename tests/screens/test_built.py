"""What is built: small enough, with the API's own types, in three languages, installable."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from screens import api_types, build

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pytest

ROOT = Path(__file__).parent.parent.parent
MOST = 75_000
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


def scripts(parts: Iterable[str], told: dict[str, Any]) -> int:
    """Return how many bytes of JavaScript these are, compressed."""
    files = {told[each]["file"] for each in parts}
    return sum(
        len(gzip.compress((build.BUILT / file).read_bytes()))
        for file in files
        if file.endswith(".js")
    )


def loads_by_page() -> dict[str, list[tuple[str, frozenset[str]]]]:
    told = manifest()
    shell = next(name for name, each in told.items() if each.get("isEntry"))
    pages = set(told[shell]["dynamicImports"])
    assert len(pages) > 5
    base = frozenset(with_imports(shell, told))
    return {page: list(loads(page, base, told, pages | {shell})) for page in sorted(pages)}


def test_no_page_loads_more_javascript_than_it_may(capsys: pytest.CaptureFixture[str]) -> None:
    """A page as it opens, and with any one of its dialogs, tabs or other parts that come later.

    What whoever opens every one of them in turn has loaded in the end is printed beside it.
    """
    build.build()
    told = manifest()
    most = {}
    for page, found in loads_by_page().items():
        sizes = [(scripts(loaded, told), part) for part, loaded in found]
        most[page] = max(sizes)
        every = scripts({each for _, loaded in found for each in loaded}, told)
        with capsys.disabled():
            print(  # noqa: T201
                f"\n{Path(page).stem}: {sizes[0][0]:,} bytes of JavaScript, compressed; at most "
                f"{most[page][0]:,} with {Path(most[page][1]).stem}, {every:,} with every part",
                end="",
            )
    assert {page: each for page, each in most.items() if each[0] > MOST} == {}


def test_the_words_of_each_language_are_beside_the_code() -> None:
    """Every `texts()` in the built code has its words, key by key, in each language's file."""
    code = [each.read_text() for each in (build.BUILT / "assets").glob("*.js")]
    asked = {id_: dictionary for each in code for dictionary, id_ in CALLS.findall(each)}
    sources = [each.read_text() for each in (build.SOURCES / "src").rglob("*.ts")]
    assert len(asked) == sum(each.count("= texts(") for each in sources) > 1
    for language in ("zh-Hant", "zh-Hans"):
        (file,) = (build.BUILT / "assets").glob(f"{language}-*.json")
        words = json.loads(file.read_text())
        assert words.keys() == asked.keys(), language
        for id_, dictionary in asked.items():
            keys = {a or b for a, b in KEYS.findall(STRINGS.sub("", dictionary))}
            assert words[id_].keys() == keys, (language, id_)


CALLS = re.compile(r"\((\{(?:[^{}`]|`[^`]*`)*\}),`([\w-]{4})`\)")
"""A dictionary and its id, as the build writes them."""

STRINGS = re.compile(r"(?<=:)`[^`]*`|(?<=:)\"[^\"]*\"|(?<=:)'[^']*'")
KEYS = re.compile(r"(?:[{,])(?:[\"`']([^\"`']+)[\"`']|(\w+)):")


def test_the_types_are_those_of_the_api(tmp_path: Path) -> None:
    api_types.write(tmp_path / "schema.d.ts")

    assert (tmp_path / "schema.d.ts").read_text() == api_types.TYPES.read_text(), (
        "the API has changed: run `make screens`"
    )


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
    assert "threedice/api/screens/index.html" in names
    assert any(name.startswith("threedice/api/screens/assets/index-") for name in names)
    assert not any("node_modules" in name for name in names)
