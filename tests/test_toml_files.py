"""TOML files of people: limits of size, depth and number, and one reader for all of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

import threedice
from threedice.api.config import load_config
from threedice.cases import read_cases
from threedice.errors import InvalidToml, RulebookError, ThreediceError
from threedice.rulebook import load_rulebook
from threedice.toml_files import MAX_BYTES, MAX_DEPTH, MAX_VALUES, parse_toml, read_toml

if TYPE_CHECKING:
    from collections.abc import Callable

SOURCES: Final = Path(threedice.__file__).parent

BOMBS: Final = {
    "lists": "x = " + "[" * 5000 + "]" * 5000,
    "tables": "x = " + "{a=" * 5000 + "1" + "}" * 5000,
    "key": "x" + ".x" * 30_000 + " = 1",
    "header": "[x" + " . 'x'" * 30_000 + "]",
    "lists in tables": "x = " + "{a=[" * 2500 + "]}" * 2500,
    "lists after strings": """a = 'it"s'\nb = "don't"\nc = \"\"\"["\\\\"\"\"\"\nx = """
    + "[" * 5000,
    "keys in tables": "x = " + f"{{{'.'.join('a' * 30)} = " * 5 + "1" + "}" * 5,
}
"""Texts that `tomllib` or what follows it cannot take, each too deep."""


def deepest(levels: int) -> str:
    """Return a file whose last value lies on a level."""
    return "a = " + "[" * (levels - 1) + "1" + "]" * (levels - 1)


@pytest.mark.parametrize("bomb", BOMBS)
@pytest.mark.parametrize(
    ("reader", "error"),
    [
        (lambda file: load_rulebook(str(file)), RulebookError),
        (load_config, InvalidToml),
        (read_cases, InvalidToml),
    ],
    ids=["rulebook", "house file", "cases"],
)
def test_file_that_is_nested_too_deep_is_refused_with_the_limit(
    tmp_path: Path, bomb: str, reader: Callable[[Path], object], error: type[ThreediceError]
) -> None:
    file = tmp_path / "bomb.toml"
    file.write_text(BOMBS[bomb], encoding="utf-8")

    with pytest.raises(error, match=f"more than {MAX_DEPTH} levels deep at .*write it flatter"):
        reader(file)


def test_the_line_of_what_is_nested_too_deep_is_named() -> None:
    with pytest.raises(InvalidToml, match="at line 3;"):
        parse_toml(f"a = 1\n\n{BOMBS['key']}", "my.toml")


def test_the_limits_themselves_are_allowed() -> None:
    assert parse_toml(deepest(MAX_DEPTH), "my.toml")
    with pytest.raises(InvalidToml, match="levels deep"):
        parse_toml(deepest(MAX_DEPTH + 1), "my.toml")
    most = MAX_VALUES - 2  # with the file and the list
    assert len(parse_toml(f"a = [{'1,' * most}]", "my.toml")["a"]) == most
    with pytest.raises(InvalidToml, match="more than 20,000 values; divide it into several files"):
        parse_toml(f"a = [{'1,' * (most + 1)}]", "my.toml")


def test_file_that_is_too_large_is_refused_before_it_is_parsed(tmp_path: Path) -> None:
    file = tmp_path / "large.toml"
    file.write_bytes(b"#" * MAX_BYTES)
    assert read_toml(file) == {}

    file.write_bytes(b"#" * MAX_BYTES + b"#")

    with pytest.raises(InvalidToml, match="is larger than 1024 KiB"):
        read_toml(file)


@pytest.mark.parametrize("number", ["0x" + "f" * 5000, str(1 << 63), str(-(1 << 63) - 1)])
def test_whole_number_of_over_64_bits_is_refused(number: str) -> None:
    with pytest.raises(InvalidToml, match="over 64 bits at the key 'a'"):
        parse_toml(f"a = {number}", "my.toml")


@pytest.mark.parametrize("number", [(1 << 63) - 1, -(1 << 63)])
def test_whole_number_of_64_bits_is_read(number: int) -> None:
    assert parse_toml(f"a = {number}", "my.toml") == {"a": number}


@pytest.mark.parametrize(
    "text",
    [
        'a = "' + "[" * 50 + '"',
        "a = '" + "." * 50 + "'",
        '"' + "a." * 50 + '" = 1',
        'a = """' + "[" * 50 + '\n""" # ' + "[" * 50,
        'a = """"' + "{" * 50 + '"""""',
        "a = '''" + "'[" * 50 + "'''",
        'a = "\\"' + "[" * 50 + '"',
        "\n".join(f"[a.b{n}]\nc.d = 1.5" for n in range(50)),
        "a = [\n" + "[1.5, 2.5],\n" * 50 + "]",
    ],
)
def test_strings_comments_and_neighbours_do_not_count_as_depth(text: str) -> None:
    assert parse_toml(text, "my.toml")


@pytest.mark.parametrize("text", ['a = "' + "[" * 50, "a = '" + "[" * 50, 'a = """' + "[" * 50])
def test_text_after_a_string_without_an_end_is_reported_as_malformed(text: str) -> None:
    with pytest.raises(InvalidToml, match="is not valid TOML"):
        parse_toml(text, "my.toml")


def test_every_toml_file_of_the_package_is_far_within_the_limits() -> None:
    files = list(SOURCES.rglob("*.toml"))

    assert len(files) > 40
    for file in files:
        assert file.stat().st_size < MAX_BYTES / 10
        assert read_toml(file)


def test_one_module_parses_the_toml_files_of_people() -> None:
    using = {
        path.relative_to(SOURCES).as_posix()
        for path in SOURCES.rglob("*.py")
        if "tomllib" in path.read_text(encoding="utf-8")
    }
    assert using == {"toml_files.py", "api/texts/__init__.py"}  # the second: our own texts
