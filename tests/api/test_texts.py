"""Every refusal and problem code has a text in every language."""

from __future__ import annotations

import re
from pathlib import Path
from string import Formatter
from typing import get_args

import pytest

import threedice.api
from threedice.account.decider import ACCOUNT_REFUSAL_TEXTS
from threedice.api.texts import LANGUAGES, TEXTS, Language, preferred_language
from threedice.house.decisions import HOUSE_REFUSAL_TEXTS
from threedice.identity import errors
from threedice.table.rules import TABLE_REFUSAL_TEXTS

REASONS = {
    "sign-in": errors.SignInReason,
    "session": errors.SessionReason,
    "password": errors.PasswordReason,
    "account": errors.AccountReason,
    "request": errors.ApprovalReason,
}
_PROBLEM_CODE = re.compile(r'HttpProblem\(\s*\d+, f?"([^"{]+)')


def placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_refusal_code_has_a_text(language: Language) -> None:
    known = TEXTS[language]
    rules = TABLE_REFUSAL_TEXTS.keys() | ACCOUNT_REFUSAL_TEXTS.keys() | HOUSE_REFUSAL_TEXTS.keys()
    identity = {f"{kind}/{reason}" for kind, each in REASONS.items() for reason in get_args(each)}
    assert known.keys() >= rules | identity
    assert known.keys() == TEXTS["en"].keys()
    assert all(known.values())


@pytest.mark.parametrize("language", LANGUAGES)
def test_texts_have_the_same_placeholders_in_every_language(language: Language) -> None:
    for code, text in TEXTS["en"].items():
        assert placeholders(TEXTS[language][code]) == placeholders(text), code


def test_every_problem_code_of_the_api_has_a_text() -> None:
    folder = Path(next(iter(threedice.api.__path__)))
    codes = {
        code for file in folder.rglob("*.py") for code in _PROBLEM_CODE.findall(file.read_text())
    }
    assert len(codes) > 15
    assert {code for code in codes if not code.endswith("/")} <= TEXTS["en"].keys()


@pytest.mark.parametrize(
    ("header", "language"),
    [
        (b"", "en"),
        (b"zh-Hant-HK", "zh-Hant"),
        (b"zh-Hans-SG, en", "zh-Hans"),
        (b"en;q=0.2, zh-TW;q=0.9", "zh-Hant"),
        (b"zh;q=wrong, en;q=0.1", "en"),
        (b"\xff\xfe;;;,,,", "en"),
        (b"de, fr", "en"),
    ],
)
def test_accept_language_header_selects_the_language(header: bytes, language: str) -> None:
    assert preferred_language(header) == language
