"""`threedice house check`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.api.test_config import HOUSE_FILE

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Run


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
