"""Output to terminals, pipes and full disks."""

from __future__ import annotations

import ast
import csv
import io
import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from tests.rulebook.small_rulebook import BOOK
from threedice import __version__, load
from threedice.cli.output import print_csv
from threedice.version import build_id

if TYPE_CHECKING:
    from tests.cli.conftest import Run

ROOT: Final = Path(__file__).parents[2]
CSV_CELLS: Final[list[list[str]]] = json.loads(
    (ROOT / "screens" / "src" / "lib" / "csv-cells.json").read_text(encoding="utf-8")
)


def test_piped_output_has_no_colour_and_no_box_drawing() -> None:
    command = [sys.executable, "-m", "threedice"]
    for words in (["odds", "triple-dice"], ["rulebooks"], ["--help"], ["odds", "--help"]):
        shown = subprocess.run([*command, *words], capture_output=True, check=True, text=True)
        assert "\x1b" not in shown.stdout
        assert not any(0x2500 <= ord(each) <= 0x259F for each in shown.stdout)


def test_terminal_output_is_a_drawn_table() -> None:
    main_end, terminal = pty.openpty()
    subprocess.run(
        [sys.executable, "-m", "threedice", "rulebooks"],
        stdout=terminal,
        check=True,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "120"},
    )
    os.close(terminal)
    shown = os.read(main_end, 65536).decode()

    assert "\x1b[1m" in shown
    assert "─" in shown


def test_pipe_closed_early_is_not_an_error() -> None:
    words = [sys.executable, "-m", "threedice", "payoffs", "sg-rws-tai-sai-v6/e"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        assert process.stderr.read() == b""


def test_program_without_arguments_prints_its_help(run: Run) -> None:
    assert run().out == run("--help").out
    assert "Commands:" in run().out


@pytest.mark.parametrize("group", ["log", "users", "house", "keys"])
def test_command_group_without_a_command_prints_its_help_as_an_error(run: Run, group: str) -> None:
    result = run(group)

    assert (result.code, result.out) == (2, "")
    assert result.err == run(group, "--help").out


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_json_is_utf8_whatever_the_encoding_of_the_pipe(encoding: str) -> None:
    shown = subprocess.run(
        [sys.executable, "-m", "threedice", "rulebooks", "show", "sg-rws-tai-sai-v6", "--json"],
        capture_output=True,
        check=True,
        env={**os.environ, "PYTHONIOENCODING": encoding},
    )
    assert "圍骰通吃" in shown.stdout.decode("utf-8")


def test_full_disk_is_reported_in_one_line() -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        words = [sys.executable, "-m", "threedice", "odds", "triple-dice"]
        shown = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, check=False, text=True)
    assert shown.returncode == 2
    assert shown.stderr == "threedice: cannot write: No space left on device\n"


def test_narrow_terminal_does_not_break_figures() -> None:
    main_end, terminal = pty.openpty()
    subprocess.run(
        [sys.executable, "-m", "threedice", "odds", "triple-dice", "--box", "single:crown"],
        stdout=terminal,
        check=True,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "60"},
    )
    os.close(terminal)
    shown = os.read(main_end, 65536).decode()
    for figure in ("91/216", "17/108", "15.741 %", "0.9875"):
        assert figure in shown


def test_every_form_of_output_names_game_hash_and_readings(run: Run) -> None:
    game = load("triple-dice", {"outside": "per-die"})
    chosen = ("--reading", "outside=per-die")
    for words in (
        ("odds", "triple-dice", *chosen),
        ("odds", "triple-dice", "--csv", *chosen),
        ("odds", "triple-dice", "--json", *chosen),
        ("odds", "triple-dice", "--bet", "red=5", *chosen),
        ("settle", "triple-dice", "--dice", "1,2,3", "--bet", "red=5", *chosen),
    ):
        out = run(*words).out
        assert game.hash in out
        assert "per-die" in out


def test_rulebooks_show_prints_the_conduct_of_the_game(run: Run) -> None:
    out = run("rulebooks", "show", "triple-dice").out

    for fact in (
        "limits.maximum.scope: player",
        "people.minimum_age.years: 18",
        "shooter.dice_offered: 5",
        "chips.kinds: value",
        "equipment.mat.needed: always",
    ):
        assert fact in out
    assert "Readings of sg-rws-tai-sai-v6/a" in run("rulebooks", "show", "sg-rws-tai-sai-v6").out


def test_help_imports_neither_rich_nor_the_rulebooks() -> None:
    script = (
        "import sys\nsys.argv = ['threedice', '--help']\nfrom threedice.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "import json\nsys.stderr.write(json.dumps([m for m in sys.modules]))"
    )
    shown = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, check=True, text=True
    )
    loaded = json.loads(shown.stderr)

    assert "rich" not in loaded
    assert "threedice.rulebook" not in loaded


def test_version_option_prints_the_version_and_the_build(run: Run) -> None:
    assert run("--version").out == f"threedice {__version__} (build {build_id()})\n"


# --- CSV ----------------------------------------------------------------------------------------


def imported_modules(file: Path) -> set[str]:
    """Return the modules that a file imports anywhere, without relative imports."""
    nodes = list(ast.walk(ast.parse(file.read_text(encoding="utf-8"))))
    plain = {each.name for node in nodes if isinstance(node, ast.Import) for each in node.names}
    return plain | {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}


def test_one_function_writes_every_csv_output() -> None:
    source = ROOT / "src" / "threedice"
    using = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*.py")
        if "csv" in imported_modules(path)
    }
    assert using == {"cli/dice_csv.py"}  # it reads


@pytest.mark.parametrize(("text", "written"), CSV_CELLS)
def test_csv_cell_is_written_as_in_the_screens(
    capsys: pytest.CaptureFixture[str], text: str, written: str
) -> None:
    print_csv([text], [[text, 1]])

    assert capsys.readouterr().out == f"{written}\n{written},1\n"


def test_foreign_rulebook_writes_no_formula_into_csv(run: Run, tmp_path: Path) -> None:
    book = BOOK.replace('name = "Small"', """name = '=HYPERLINK("http://example.com")'""")
    (tmp_path / "foreign.toml").write_text(book, encoding="utf-8")

    out = run("odds", f"{tmp_path}/foreign.toml/main", "--csv").out

    cells = [cell for row in csv.reader(io.StringIO(out)) for cell in row]
    assert """'=HYPERLINK("http://example.com")""" in cells
    assert [cell for cell in cells if cell.startswith("=")] == []
