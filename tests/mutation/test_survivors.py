"""The list of survivors and the tests against mutants are up to date."""

from __future__ import annotations

import pytest

from tests.mutation.mutants import FILES, ROOT, paths_of_tests
from tests.mutation.survivors import LIST, parse_survivors


@pytest.mark.parametrize("file", FILES)
def test_tests_against_mutants_of_a_file_exist(file: str) -> None:
    assert [path for path in paths_of_tests(file) if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("file", FILES)
def test_every_survivor_names_a_line_of_its_file(file: str) -> None:
    source = (ROOT / "src/threedice" / file).read_text(encoding="utf-8")
    lines = {line.strip() for line in source.splitlines()}
    listed = parse_survivors(LIST.read_text(encoding="utf-8"))

    assert [each for each in listed if each.file == file and each.line not in lines] == []
