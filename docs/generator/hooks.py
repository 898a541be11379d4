"""Hooks of MkDocs: they add the generated pages, and adapt links that leave the folder docs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from docs.generator import command_reference, event_reference, notebook_pages, python_reference
from docs.generator.live_odds import live_odds_files
from docs.generator.rulebook_pages import rulebook_page
from mkdocs.structure.files import File

from threedice.rulebook import load_rulebook
from threedice.rulebook.source import shipped_ids

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

ROOT: Final = Path(__file__).parents[2]
RECORDS: Final = "adr/index.md"
NOTEBOOKS: Final = "notebooks/index.md"
RULEBOOKS: Final = "rulebooks/index.md"

_LINK: Final = re.compile(r"\[([^\]]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")
_FROM_ROOT: Final = {
    "CONTRIBUTING.md": "contributing/index.md",
    "CHANGELOG.md": "reference/changelog.md",
}
"""Pages outside the folder docs, and their place on the site."""


def on_config(config: MkDocsConfig) -> None:
    """Fill in the sections of the navigation that are found rather than listed."""
    found = {
        "RULEBOOKS": [RULEBOOKS, *(f"rulebooks/{each}.md" for each in shipped_ids())],
        "RECORDS": [RECORDS, *(f"adr/{each.name}" for each in _records())],
        "NOTEBOOKS": [NOTEBOOKS, *map(notebook_pages.page_uri, notebook_pages.notebooks())],
    }
    config.nav = _fill(config.nav, found)
    config.watch.extend(str(ROOT / name) for name in ("CHANGELOG.md", "CONTRIBUTING.md", "src"))


def _fill(nav: Any, found: dict[str, list[str]]) -> Any:
    if isinstance(nav, list):
        return [_fill(each, found) for each in nav]
    if isinstance(nav, dict):
        return {title: _fill(each, found) for title, each in nav.items()}
    return found.get(nav, nav)


def on_files(files: Files, config: MkDocsConfig) -> None:
    """Add the generated pages, and the files of the live odds page."""
    for uri, text in _pages():
        files.append(File.generated(config, uri, content=text))
    for uri, path in live_odds_files():
        files.append(File.generated(config, uri, abs_src_path=str(path)))


def _pages() -> Iterator[tuple[str, str]]:
    for name, uri in _FROM_ROOT.items():
        yield uri, _moved((ROOT / name).read_text(encoding="utf-8"), uri)
    yield "reference/command-line.md", command_reference.page()
    yield "reference/events.md", event_reference.page()
    yield "reference/python.md", python_reference.page()
    yield RECORDS, _records_page()
    yield RULEBOOKS, _rulebooks_page()
    for book_id in shipped_ids():
        yield f"rulebooks/{book_id}.md", rulebook_page(book_id)
    yield from notebook_pages.pages(NOTEBOOKS)


def _moved(text: str, uri: str) -> str:
    """Return a page of the root with its links as seen from its place on the site."""
    up = "../" * uri.count("/")

    def link(found: re.Match[str]) -> str:
        title, target, anchor = found[1], found[2], found[3] or ""
        if target.startswith(("http:", "https:")):
            return found[0]
        if target in _FROM_ROOT:
            return f"[{title}]({up}{_FROM_ROOT[target]}{anchor})"
        inside = target.removeprefix("docs/")
        if inside == target:
            return title
        return f"[{title}]({up}{'adr/index.md' if inside == 'adr/' else inside}{anchor})"

    return _LINK.sub(link, text)


def on_page_markdown(markdown: str, page: Any, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Turn links to files that are not on the site, such as sources, into plain text."""
    folder = Path(config.docs_dir, page.file.src_uri).parent

    def link(found: re.Match[str]) -> str:
        target = Path(folder, found[2]).resolve()
        is_outside = target.exists() and not target.is_relative_to(config.docs_dir)
        return found[1] if is_outside else found[0]

    return _LINK.sub(link, markdown)


# --- lists of pages -----------------------------------------------------------------------------


def _records() -> list[Path]:
    return sorted((ROOT / "docs" / "adr").glob("[0-9]*.md"))


def _records_page() -> str:
    lines = []
    for record in _records():
        title = record.read_text(encoding="utf-8").partition("\n")[0].lstrip("# ")
        lines.append(f"- [{title}]({record.name})")
    return "\n".join(
        [
            "# Decision records",
            "",
            "For developers: the decisions behind Threedice, with the reasons and the rejected",
            "alternatives.",
            "",
            *lines,
            "",
        ]
    )


def _rulebooks_page() -> str:
    rows = []
    for book_id in shipped_ids():
        book = load_rulebook(book_id).book
        layouts = ", ".join(f"`{book_id}/{each}`" for each in book.layouts)
        rows.append(
            f"| [{book.title}]({book_id}.md) | {book.jurisdiction} | {book.version} | {layouts} |"
        )
    return "\n".join(
        [
            "# Rulebooks",
            "",
            "For players, designers and auditors: the rulebooks that come with Threedice. Each",
            "page is generated from the TOML file: layouts, odds, readings, clauses and the",
            "findings of the linter.",
            "",
            "| rulebook | jurisdiction | version | games |",
            "|---|---|---|---|",
            *rows,
            "",
            "[Add a game](../add-a-game.md) shows how to write another one.",
            "",
        ]
    )
