"""Every code block of the documentation is run, or says why not."""

from __future__ import annotations

import re
import socket
from typing import TYPE_CHECKING

import pytest

from tests.docs.code_blocks import (
    ROOT,
    Block,
    PageRun,
    blocks,
    other_test,
    pages,
    threedice_commands,
    unknown_parts,
)

if TYPE_CHECKING:
    from pathlib import Path

PAGES = [page for page in pages() if any(each.language != "text" for each in blocks(page))]
RUN = [page for page in PAGES if page.name != "README.md"]  # pytest runs its doctests
INDENTED = re.compile(r"\n\n    ((?:\S*/)?(?:threedice|make|pip|\$) .*)")


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", RUN, ids=name)
def test_code_of_a_page_runs(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unused_port: int
) -> None:
    monkeypatch.chdir(tmp_path)
    run = PageRun(tmp_path, unused_port)
    try:
        for block in blocks(page):
            if block.is_run and block.language != "text":
                run.run(block)
    finally:
        run.stop_server()


@pytest.fixture
def unused_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
    return port


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_commands_of_a_page_exist_with_their_options(page: Path) -> None:
    unknown = [
        part
        for block in blocks(page)
        if block.language in ("sh", "console")
        for words in threedice_commands(block.text)
        for part in unknown_parts(words)
    ]

    assert unknown == []


def test_blocks_that_other_tests_run_are_read_by_those_tests() -> None:
    for page in PAGES:
        for test in filter(None, map(other_test, blocks(page))):
            assert page.name in test.read_text(encoding="utf-8"), f"{name(page)}: {test.name}"


def test_code_is_in_fences_with_a_language() -> None:
    indented = [
        f"{name(page)}: {found}"
        for page in pages()
        if page.name != "README.md"
        for found in INDENTED.findall(re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL))
    ]
    nameless = [
        f"{name(page)}:{each.line}"
        for page in pages()
        for each in blocks(page)
        if not each.language
    ]

    assert (indented, nameless) == ([], [])


@pytest.mark.parametrize(
    ("command", "unknown"),
    [
        ("threedice odds GAME --bet big=1", []),
        ("threedice odds GAME --stake 1", ["--stake"]),
        ("threedice odd GAME", ["odd"]),
        ("threedice log rewind", ["rewind"]),
        (".venv/bin/threedice log verify  # --nonsense", []),
    ],
)
def test_misspelt_command_in_a_page_is_noticed(command: str, unknown: list[str]) -> None:
    (words,) = threedice_commands(command)

    assert unknown_parts(words) == unknown


@pytest.mark.parametrize(
    "block",
    [
        Block("python", ">>> 1 + 1\n3\n", "", 1),
        Block("python", "raise ValueError\n", "", 1),
        Block("console", "$ echo one\ntwo\n", "", 1),
        Block("sh", "false\ntrue\n", "", 1),
        Block("toml", 'extends = "macau-sic-bo"\nid = "x"\nodd = 1\n', "", 1),
        Block("json", "{", "", 1),
    ],
    ids=lambda block: block.language,
)
def test_block_that_does_not_work_fails(block: Block, tmp_path: Path) -> None:
    with pytest.raises(Exception):  # noqa: B017, PT011 -- whatever the block raises
        PageRun(tmp_path, 0).run(block)
