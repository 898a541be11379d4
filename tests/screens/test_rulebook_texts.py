"""The texts of the screens for data of the server: explanations, announcements and games."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from screens import build
from threedice.rulebook import load_rulebook
from threedice.rulebook.source import shipped_ids
from threedice.table.explanation_texts import EXPLANATION_TEXTS

TEXTS = build.SOURCES / "src" / "texts"
FROM_THE_GAME = {"clauses", "call", "name", "cause", "unit", "Unit"}
"""Placeholders that are not facts of a line."""


def catalogue(language: str) -> Any:
    return json.loads((TEXTS / f"{language}.json").read_text(encoding="utf-8"))


def placeholders(text: str) -> set[str]:
    return set(re.findall(r"\{(\w+)\}", text))


def test_every_line_of_an_explanation_has_a_text_with_the_facts_of_the_line() -> None:
    lines = catalogue("en")["player"]["explain"]["line"]

    assert list(lines) == list(EXPLANATION_TEXTS)
    for code, text in EXPLANATION_TEXTS.items():
        facts = placeholders(text) - FROM_THE_GAME
        named = placeholders(lines[code]) - {"box", "dice", "cause"}
        assert named <= facts, code
        assert ("dice" in placeholders(lines[code])) == ("call" in placeholders(text)), code


@pytest.mark.parametrize("book_id", shipped_ids())
def test_game_and_announcements_of_a_shipped_rulebook_are_translated(book_id: str) -> None:
    texts = catalogue("zh-Hant")
    book = load_rulebook(book_id).book
    said = {rule.announces for rule in book.procedure.steps.values()}
    said |= {rule.announces for rule in book.irregularities.values()}

    assert book_id in texts["game"]["title"]
    for face in book.dice.faces:
        assert isinstance(face, int) or face in texts["box"]["face"], face
    for family in book.wagers:
        assert family in texts["box"]["family"], family
    for words in filter(None, said):
        key = words.lower().removesuffix(", please").replace(" ", "-")
        assert key in texts["call"]["announcement"], words
