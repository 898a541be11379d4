"""Ids, names and texts that people enter, and names that look alike."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import threedice
from threedice.errors import InvalidInput
from threedice.house.decisions import HOUSE_ACCOUNT
from threedice.identity.audit_trail import CONSOLE
from threedice.names import RESERVED_NAMES, check_new_id, check_text, normalise_name, skeleton

SOURCES = Path(threedice.__file__).parent


@pytest.mark.parametrize(
    "good", ["ann", "a.b-c_d", "O'Brien", "b\u00f6b", "\u738b\u5c0f\u660e", "\u0b85\u0ba9\u0bcd"]
)
def test_ids_of_any_script_are_accepted(good: str) -> None:
    check_new_id(good)


@pytest.mark.parametrize("bad", ["", "a b", "a/b", "x" * 101, "\u0301a", "\ud800", "a\u00a0b"])
def test_id_with_a_space_a_slash_or_a_leading_mark_is_refused(bad: str) -> None:
    with pytest.raises(InvalidInput):
        check_new_id(bad)


def test_message_names_the_refused_character() -> None:
    with pytest.raises(InvalidInput, match=r"a note contains the character U\+202E"):
        check_text("abc\u202e", "a note")


def test_names_under_which_the_house_acts_are_reserved() -> None:
    assert {HOUSE_ACCOUNT, CONSOLE} == RESERVED_NAMES


def test_name_without_a_visible_character_is_refused() -> None:
    for blank in ("", "  ", "\u3000", "\u2800"):
        with pytest.raises(InvalidInput):
            normalise_name(blank)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("paul", "\u0440\u0430ul"),
        ("O0O", "ooo"),
        ("Il1", "lll"),
        ("\u0391nn", "ann"),
        ("x", "\u2179"),
    ],
)
def test_names_that_look_alike_have_one_skeleton(one: str, other: str) -> None:
    assert skeleton(one) == skeleton(other)


def test_names_that_differ_visibly_have_different_skeletons() -> None:
    names = ["ann", "ann2", "anna", "b\u00f6b", "bob", "\u738b\u5c0f\u660e", "\u738b\u5927\u660e"]
    assert len(set(map(skeleton, names))) == len(names)


def test_no_pattern_accepts_a_trailing_newline() -> None:
    r"""A `$` also matches before a final newline; `\Z` and `fullmatch` do not."""
    lines = [
        f"{file.relative_to(SOURCES)}:{number}: {line.strip()}"
        for file in sorted(SOURCES.rglob("*.py"))
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
        if re.search(r"""[^"']\$["']""", line) and "re.sub" not in line
    ]
    assert lines == []
