"""`threedice house check`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.api.test_config import HOUSE_FILE
from tests.rulebook.small_rulebook import BOOK

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Option, Run


def test_house_check_shows_a_valid_configuration(tmp_path: Path, run: Run) -> None:
    (tmp_path / "house.toml").write_text(HOUSE_FILE, encoding="utf-8")

    plain = run("house", "check", str(tmp_path / "house.toml"))
    as_json = run("house", "check", str(tmp_path / "house.toml"), "--json")

    assert plain.code == 0
    assert "Threedice Palace: SGD, Asia/Singapore" in plain.out
    assert "machine-1  nz-tai-sai-2008/2    refuse  the house" in plain.out
    assert as_json.json["tables"]["pit-1"]["readings"]["pro-rata"] == "absorb"


def test_house_check_of_an_invalid_configuration_prints_one_line(tmp_path: Path, run: Run) -> None:
    (tmp_path / "house.toml").write_text(HOUSE_FILE.replace("SGD", "sgd"), encoding="utf-8")

    result = run("house", "check", str(tmp_path / "house.toml"))

    assert result.code == 2
    assert "house.toml, line 2: currency" in result.err
    assert result.err.count("\n") == 1


@pytest.fixture
def book_under_a_shipped_id(tmp_path: Path) -> Path:
    """Return a rulebook of one's own that calls itself `crown-and-anchor`."""
    file = tmp_path / "mine.toml"
    file.write_text(BOOK.replace('"my-game"', '"crown-and-anchor"'), encoding="utf-8")
    return file


@pytest.mark.parametrize(
    "words", [("rulebooks", "check"), ("odds",), ("house", "check"), ("serve", "--house")]
)
def test_rulebook_under_a_shipped_id_is_refused_with_what_to_do(
    tmp_path: Path, run: Run, book_under_a_shipped_id: Path, words: tuple[str, ...]
) -> None:
    house = tmp_path / "house.toml"
    text = HOUSE_FILE.replace("nz-tai-sai-2008/2", f"{book_under_a_shipped_id}/main")
    house.write_text(text, encoding="utf-8")
    file = house if {"house", "--house"} & set(words) else book_under_a_shipped_id

    result = run(*words, str(file))

    assert result.code == 2
    assert "'crown-and-anchor' is the id of a shipped rulebook" in result.err
    assert 'give it an id of its own, such as "my-crown-and-anchor"' in result.err


def test_doctor_reports_a_rulebook_under_a_shipped_id(
    tmp_path: Path, run: Run, book_under_a_shipped_id: Path, database: Option
) -> None:
    text = HOUSE_FILE.replace("nz-tai-sai-2008/2", f"{book_under_a_shipped_id}/main")
    (tmp_path / "house.toml").write_text(text, encoding="utf-8")

    result = run("doctor", "--house", str(tmp_path / "house.toml"), *database)

    assert "'crown-and-anchor' is the id of a shipped rulebook" in result.out
