"""The code blocks of a page, and how they are run.

All blocks of a page run in order, in one folder and one namespace:

| block | how it runs |
|---|---|
| `python` | as a doctest if it has prompts, otherwise as a module |
| `console` | each `$ command` in bash; its output is compared as in a doctest |
| `sh` | in bash; it must end with exit code 0 |
| `toml` | saved as its first line says, `# NAME.toml`; loaded as a rulebook, cases or a house |
| `json` | parsed |
| `csv` | saved under the name in the comment before it, `<!-- saved as NAME -->` |
| `text` | not code |

A comment before a block changes that: `<!-- not run: REASON -->`, `<!-- run by FILE -->` (a test
that runs it in another way; at the top of a page, for all of its blocks), `<!-- ends with exit
code N -->`,
`<!-- run in the background until it prints: WORDS -->`, which lasts until
`<!-- the server is stopped before this block -->`. Commands of `threedice` that are not run must at
least exist with all their options.
"""

from __future__ import annotations

import doctest
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.contract import adapter
from threedice.cases import read_cases, run_case
from threedice.rulebook import load_rulebook

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT: Final = Path(__file__).parents[2]
SECONDS_TO_STOP: Final = 60
FLAGS: Final = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
_FENCE: Final = re.compile(r"^( *)```([\w-]*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
_COMMENT: Final = re.compile(r"<!-- ((?:(?!-->).)*) -->\n$", re.DOTALL)
_PAGE_RUN_BY: Final = re.compile(r"^<!-- run by (\S+) -->\n(?:\n|\Z)", re.MULTILINE)
_PLACEHOLDERS: Final = re.compile(r"\[[^\]]*\]|\.\.\.")
"""What a reader replaces or leaves out in a command that is not run."""


@dataclass(frozen=True)
class Block:
    """A code block, and the comment before it."""

    language: str
    text: str
    comment: str
    line: int

    @property
    def is_run(self) -> bool:
        return not self.comment.startswith(("not run: ", "run by "))


def blocks(page: Path) -> list[Block]:
    """Return the code blocks of a page."""
    text = page.read_text(encoding="utf-8")
    whole_page = _PAGE_RUN_BY.search(text.partition("\n## ")[0])
    found = []
    for fence in _FENCE.finditer(text):
        comment = _COMMENT.search(text, 0, fence.start())
        by_page = f"run by {whole_page[1]}" if whole_page else ""
        body = re.sub(rf"^{fence[1]}", "", fence[3], flags=re.MULTILINE)
        line = text.count("\n", 0, fence.start()) + 1
        found.append(Block(fence[2], body, comment[1] if comment else by_page, line))
    return found


def other_test(block: Block) -> Path | None:
    """Return the test that runs a block in another way."""
    name = block.comment.removeprefix("run by ")
    return ROOT / name if name != block.comment else None


# --- commands that are not run ------------------------------------------------------------------


def threedice_commands(script: str) -> Iterator[list[str]]:
    """Yield the words of every `threedice` command in a shell script."""
    joined = script.replace("\\\n", " ")
    for line in joined.splitlines():
        words = shlex.split(_PLACEHOLDERS.sub("", line.removeprefix("$ ")), comments=True)
        if words and words[0].rpartition("/")[2] == "threedice":
            yield words[1:]


def unknown_parts(words: list[str]) -> list[str]:
    """Return the commands and options in a command line that `threedice` does not have."""
    command: Any = _root_command()
    rest = list(words)
    while rest and (children := getattr(command, "commands", None)):
        if rest[0].startswith("-"):
            break
        if rest[0] not in children:
            return [rest[0]]
        command = children[rest.pop(0)]
    known = {name for each in command.params for name in (*each.opts, *each.secondary_opts)}
    known |= {"--help", "-h"}
    return [word for word in rest if word.startswith("--") and word.partition("=")[0] not in known]


@cache
def _root_command() -> Any:
    return adapter.command_line()


# --- running ------------------------------------------------------------------------------------


@dataclass
class PageRun:
    """The run of a page: its folder, its environment, its names, and its server if it has one."""

    folder: Path
    port: int
    names: dict[str, Any] = field(default_factory=dict)
    environment: dict[str, str] = field(init=False)
    server: subprocess.Popen[str] | None = None

    def __post_init__(self) -> None:
        own = {
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
            "COLUMNS": "100",
            "XDG_DATA_HOME": str(self.folder / "data"),
            "XDG_CONFIG_HOME": str(self.folder / "config"),
            "THREEDICE_DATABASE": "sqlite:///house.sqlite",
        }
        self.environment = os.environ | own

    def run(self, block: Block) -> None:
        if block.comment.startswith("the server is stopped"):
            self.stop_server()
        match block.language:
            case "python":
                self._python(block)
            case "console":
                self._console(block)
            case "sh" if block.comment.startswith("run in the background"):
                self._start_server(block)
            case "sh":
                self._bash(f"set -eu\n{block.text}", 0)
            case "toml":
                self._toml(block)
            case "csv" if block.comment.startswith("saved as "):
                (self.folder / block.comment.removeprefix("saved as ")).write_text(block.text)
            case "json":
                json.loads(block.text)
            case _:
                pytest.fail(f"no way to run a block of {block.language or 'no language'}")

    def _python(self, block: Block) -> None:
        if ">>>" not in block.text:
            exec(compile(block.text, f"line {block.line}", "exec"), self.names)
            return
        test = doctest.DocTestParser().get_doctest(
            block.text, self.names, f"line {block.line}", None, block.line
        )
        output: list[str] = []
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False)
        runner.run(test, out=output.append, clear_globs=False)
        self.names.update(test.globs)
        assert not output, "".join(output)

    def _console(self, block: Block) -> None:
        code = int(block.comment.partition("exit code ")[2] or 0)
        first, *commands = re.split(r"^\$ ", block.text, flags=re.MULTILINE)
        assert not first, "a console block begins with a command"
        for each in commands:
            command, _, expected = each.partition("\n")
            # An error message that the page shows is expected to end with an error.
            shows_error = expected.startswith("threedice: ")
            output = self._bash(command, 2 if shows_error else code)
            checker = doctest.OutputChecker()
            assert checker.check_output(expected or "...", output, FLAGS), f"$ {command}\n{output}"

    def _bash(self, script: str, code: int) -> str:
        done = subprocess.run(
            ["bash", "-c", self._with_port(script)],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        output = done.stdout.decode()
        assert done.returncode == code, f"{script}\nexit code {done.returncode}\n{output}"
        return output

    def _toml(self, block: Block) -> None:
        name = re.match(r"# (\S+\.toml)\n", block.text)
        file = self.folder / (name[1] if name else f"line-{block.line}.toml")
        file.write_text(block.text, encoding="utf-8")
        if "[[case]]" in block.text:
            for case in read_cases(file):
                outcome = run_case(case)
                assert outcome.passed, outcome
        elif "[tables." in block.text:
            self._bash(f"threedice house check {file.name}", 0)
        else:
            load_rulebook(str(file))

    def _with_port(self, script: str) -> str:
        """Return a script with a free port for the server, instead of the usual one."""
        return re.sub(r"(threedice serve [^\n&]*)", rf"\1 --port {self.port}", script)

    def _start_server(self, block: Block) -> None:
        """Start a server, and wait for the words that it prints when it is ready."""
        words = block.comment.partition("until it prints: ")[2]
        self.server = subprocess.Popen(
            ["bash", "-c", f"exec {self._with_port(block.text.strip())}"],
            cwd=self.folder, env=self.environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        assert self.server.stdout is not None
        printed = []
        for line in self.server.stdout:
            printed.append(line)
            if words in line:
                return
        pytest.fail("".join(printed))

    def stop_server(self) -> None:
        """Stop the server as Ctrl-C does, and wait for its end."""
        if self.server:
            self.server.send_signal(signal.SIGINT)
            rest, _ = self.server.communicate(timeout=SECONDS_TO_STOP)
            assert self.server.returncode == 0, rest
            self.server = None


def pages() -> list[Path]:
    """Return the pages with code: those of the site, the README and the contribution guide."""
    found = sorted((ROOT / "docs").rglob("*.md"))
    return [*found, ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
