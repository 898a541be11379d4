"""The documentation site builds, is complete, and all of its links lead somewhere."""

from __future__ import annotations

from html import escape
from pathlib import Path

import nbformat
import pytest
from docs.generator.notebook_pages import notebooks

import threedice
from tests.contract import cli
from tests.docs.links import broken_links, requests_to_other_hosts
from threedice.cli.app import COMMANDS
from threedice.house.events import AnyStreamEvent
from threedice.rulebook import load_rulebook
from threedice.rulebook.source import shipped_ids

DOCS = Path(__file__).parents[2] / "docs"


def page(site: Path, name: str) -> str:
    return (site / name).read_text(encoding="utf-8")


def test_every_link_within_the_site_leads_to_a_page_and_an_anchor(site: Path) -> None:
    assert broken_links(site) == []


def test_site_loads_nothing_from_other_hosts(site: Path) -> None:
    assert list(requests_to_other_hosts(site)) == []


@pytest.mark.parametrize(
    ("link", "is_broken"),
    [
        ("other.html", False),
        ("other.html#there", False),
        ("#here", False),
        ("https://example.org/anything", False),
        ("missing.html", True),
        ("other.html#nowhere", True),
        ("#nowhere", True),
    ],
)
def test_broken_link_is_found(tmp_path: Path, link: str, is_broken: bool) -> None:
    (tmp_path / "index.html").write_text(f'<h1 id="here">A</h1><a href="{link}">b</a>')
    (tmp_path / "other.html").write_text('<h2 id="there">B</h2>')

    assert broken_links(tmp_path) == ([f"index.html: {link}"] if is_broken else [])


def test_every_page_of_the_documentation_is_on_the_site(site: Path) -> None:
    missing = [
        source.relative_to(DOCS)
        for source in DOCS.rglob("*.md")
        if not (site / source.relative_to(DOCS).with_suffix(".html")).exists()
    ]

    assert missing == []


def test_every_command_with_its_options_is_in_the_reference(site: Path) -> None:
    reference = page(site, "reference/command-line.html")
    options = {
        name
        for command in cli.commands().values()
        for option in command["options"]
        for name in option["names"]
    } - {"--version"}

    assert [name for name in COMMANDS if f"threedice {name}" not in reference] == []
    assert [name for name in options if name not in reference] == []


def test_every_event_is_in_the_reference(site: Path) -> None:
    reference = page(site, "reference/events.html")
    events = AnyStreamEvent.__args__

    assert [each for each in events if f'id="{each.__name__.lower()}"' not in reference] == []


def test_every_public_name_is_in_the_reference(site: Path) -> None:
    reference = page(site, "reference/python.html")
    modules = threedice._EXTRA_MODULES
    names = set(dir(threedice)) - {"__version__", *modules}
    names |= {f"{each}.{name}" for each in modules for name in getattr(threedice, each).__all__}

    assert [name for name in names if f'id="threedice.{name}"' not in reference] == []


@pytest.mark.parametrize("book_id", shipped_ids())
def test_page_of_a_rulebook_has_its_layouts_odds_clauses_and_readings(
    site: Path, book_id: str
) -> None:
    text = page(site, f"rulebooks/{book_id}.html")
    source = load_rulebook(book_id)

    for layout in source.book.layouts:
        game = threedice.load(f"{book_id}/{layout}")
        assert escape(f"The felt of {game.title}") in text
        assert game.hash in text
        for box in threedice.odds_sheet(game).boxes:
            assert f"<td>{box.box.id}</td>" in text
            assert f"<td>{box.figures.edge}</td>" in text
    assert [number for number in source.book.clauses if f"<td>{number}</td>" not in text] == []
    assert [name for name in source.book.readings if f"<dt>{name} = " not in text] == []


def test_every_notebook_is_shown_with_its_outputs(site: Path) -> None:
    for notebook in notebooks():
        text = page(site, f"notebooks/{notebook.stem}.html")
        cells = nbformat.read(notebook, as_version=4).cells
        code = [cell for cell in cells if cell.cell_type == "code"]
        shown = text.count('<div class="highlight">') + text.count('class="sheet output"')
        assert shown > len(code)
