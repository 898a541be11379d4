"""The printable odds sheet."""

from __future__ import annotations

import re
from functools import cache
from html.parser import HTMLParser
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest

from threedice import load, odds_sheet, shipped_games
from threedice.odds.comparison import readings_in_force
from threedice.pages.odds import odds_page
from threedice.rulebook import load_rulebook

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

VOID = {"meta"}


@cache
def page(name: str) -> str:
    game = load(name)
    source = load_rulebook(game.book_id)
    return odds_page(odds_sheet(game), readings_in_force(source, game), source.book)


def drawings(html: str) -> Iterator[ElementTree.Element]:
    for svg in re.findall(r"<svg.*?</svg>", html, re.DOTALL):
        yield ElementTree.fromstring(svg)


class BalanceChecker(HTMLParser):
    """Parser that checks that elements are closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("name", shipped_games())
def test_odds_page_is_well_formed_and_self_contained(name: str) -> None:
    html = page(name)
    balance = BalanceChecker()
    balance.feed(html)

    assert balance.open == []
    assert not re.search(r"<(script|link|img|iframe)|url\(|@import|\bsrc=|\bhref=", html)
    assert len(list(drawings(html))) == 3


@pytest.mark.parametrize("name", shipped_games())
def test_felt_draws_every_symbol_as_a_path_and_every_number_with_pips(name: str) -> None:
    *_, felt = drawings(page(name))
    drawn = {each.tag.rpartition("}")[2] for each in felt.iter()}
    symbols = load(name).facts.faces[0] != "1"

    assert ("path" in drawn, "circle" in drawn) == (symbols, not symbols)


@pytest.mark.parametrize("name", shipped_games())
def test_odds_page_shows_every_box_with_its_exact_edge(name: str) -> None:
    html = page(name)
    for each in odds_sheet(load(name)).boxes:
        assert f"<td>{each.box.id}</td>" in html
        assert f"<td>{each.figures.edge}</td>" in html
    assert load(name).hash in html


@pytest.mark.parametrize("name", shipped_games())
def test_felt_of_the_odds_page_has_an_area_for_every_box(name: str) -> None:
    *_, felt = drawings(page(name))
    titles = [title.text for title in felt.iter("{http://www.w3.org/2000/svg}title")]

    assert set(titles[1:]) == set(load(name).boxes)


def test_texts_of_a_rulebook_are_escaped(tmp_path: Path) -> None:
    file = tmp_path / "sly.toml"
    file.write_text(
        'extends = "crown-and-anchor"\nid = "sly"\ntitle = "<b>Sly & Co</b>"\n'
        '[wagers.single]\nname = "<i>Symbol</i>"\n[clauses."4"]\nsummary = "A < B."\n'
    )
    game, source = load(f"{file}/main"), load_rulebook(str(file))
    html = odds_page(odds_sheet(game), readings_in_force(source, game), source.book)

    assert "&lt;b&gt;Sly &amp; Co&lt;/b&gt;" in html
    assert "<i>" not in html
    assert "A &lt; B." in html
