"""Commands and options of the command line, and their output for fixed input.

JSON and CSV are compared after rounding floats to nine digits. Text for people may change: only
its exit code and that there is any are compared.
"""

from __future__ import annotations

import json
import os
import re
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from hashlib import sha256
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from tests.contract import adapter, old_databases, old_house, recordings

if TYPE_CHECKING:
    from collections.abc import Iterator

COMMANDS, OUTPUTS = "cli-commands.json", "cli-outputs.json"
GAME = "sg-rws-tai-sai-v6/a"
LONGEST = 4000
"""Longer output is recorded as its hash and its beginning."""
TYPES: dict[str, type] = {
    "text": str,
    "integer": int,
    "integer range": int,
    "boolean": bool,
    "path": Path,
}
"""The type of a parameter, by Typer's name of it."""


# --- commands and options -----------------------------------------------------------------------


def commands() -> dict[str, Any]:
    """Return every command with its parameters."""
    return dict(_commands(adapter.command_line(), "threedice"))


def _commands(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    parameters = [_parameter(each) for each in command.params]
    yield (
        name,
        {
            "arguments": [each for each in parameters if not each["names"]],
            "options": sorted((each for each in parameters if each["names"]), key=json.dumps),
        },
    )
    for each, child in sorted(getattr(command, "commands", {}).items()):
        yield from _commands(child, f"{name} {each}")


def _parameter(parameter: Any) -> dict[str, Any]:
    """Return the properties of a parameter; an argument has a position instead of names."""
    is_option = parameter.param_type_name == "option"
    kind, is_repeated = parameter.type, parameter.multiple or parameter.nargs == -1
    value_type = TYPES[kind.name]
    return {
        "names": [*parameter.opts, *parameter.secondary_opts] if is_option else [],
        "type": str(list[value_type]) if is_repeated else value_type.__name__,  # type: ignore[valid-type]
        "range": [getattr(kind, "min", None), getattr(kind, "max", None)],
        "required": parameter.required,
        "repeated": is_repeated,
        "flag": is_option and parameter.is_flag,
        "default": _plain(parameter.default),
        "variable": parameter.envvar,
    }


def _plain(default: Any) -> Any:
    return default if isinstance(default, str | int | float | bool | None) else str(default)


# --- running it ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Result:
    """Exit code and output of a command."""

    code: int
    out: str
    err: str


def run(*words: str, stdin: str = "") -> Result:
    """Run `threedice` in this process."""
    out, err = StringIO(), StringIO()
    code: Any = 0
    with (
        patch.object(sys, "argv", ["threedice", *words]),
        patch.object(sys, "stdin", StringIO(stdin)),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            adapter.main()
        except SystemExit as stopped:
            code = stopped.code or 0
    return Result(int(code), out.getvalue(), err.getvalue())


def summarise(result: Result, form: str, folder: Path) -> dict[str, Any]:
    """Return the part of a result that is compared; `form` is json, csv, exact or text."""
    if result.code == 2:
        return {"code": 2, "error lines": result.err.count("\n")}
    if form == "text":
        return {"code": result.code, "text": bool(result.out.strip())}
    text = result.out
    if form == "json":
        text = json.dumps(_stable(json.loads(text)), ensure_ascii=False, separators=(",", ":"))
    text = text.replace(str(folder), "FOLDER")
    if len(text) <= LONGEST:
        return {"code": result.code, "out": text}
    digest = sha256(text.encode()).hexdigest()
    return {"code": result.code, "sha256": digest, "length": len(text), "begins": text[:300]}


def _stable(value: Any, key: str = "") -> Any:
    """Return JSON without folders, names of tests, and digits that differ by machine."""
    if key == "tests":
        return []
    if key == "file":
        return Path(value).name
    if isinstance(value, float):
        return float(f"{value:.9g}")
    if isinstance(value, dict):
        return {name: _stable(each, name) for name, each in value.items()}
    return [_stable(each) for each in value] if isinstance(value, list) else value


# --- the recorded commands ----------------------------------------------------------------------

BETS = ("--bet", "big=50", "--bet", "total:10=20")
SESSION = (
    "--plan", "martingale", "--box", "big", "--bankroll", "300", "--base", "10",
    "--maximum", "160", "--rounds", "20",
)  # fmt: skip
SHIFT = (*BETS, "--rounds-per-hour", "20", "--hours", "2", "--shifts", "3")
CROWD = ("--bets", "3", "--box", "big=2", "--box", "small", "--stake", "25=3", "--idle", "1")
SIMULATED = ("--sessions", "500", "--seed", "9", "--threads", "1")

WITHOUT_HOUSE: tuple[tuple[str, ...], ...] = (
    ("text", "--version"),
    ("text", "--help"),
    ("json", "rulebooks"),
    ("json", "rulebooks", "show", "sg-rws-tai-sai-v6"),
    ("json", "rulebooks", "show", "triple-dice"),
    ("json", "rulebooks", "check", GAME, "--chips", "5,25,100"),
    ("json", "rulebooks", "diff", "macau-sic-bo/main", "atlantic-city-sic-bo/main"),
    ("json", "odds", GAME),
    ("csv", "odds", GAME),
    ("json", "odds", "crown-and-anchor/main"),
    ("json", "odds", GAME, *BETS),
    ("csv", "odds", GAME, *BETS),
    ("json", "payoffs", GAME),
    ("json", "settle", GAME, "--dice", "4,5,1", *BETS),
    ("json", "clauses"),
    ("json", "cases"),
    ("text", "cases", "--tell"),
    ("json", "distribution", GAME, *BETS, "--rounds", "30", "--at-least", "100"),
    ("csv", "distribution", GAME, *BETS, "--rounds", "30"),
    ("json", "session", GAME, *SESSION),
    ("csv", "session", GAME, *SESSION),
    ("json", "shift", GAME, *SHIFT),
    ("csv", "shift", GAME, *SHIFT),
    ("json", "shift", GAME, *CROWD, "--rounds-per-hour", "20", "--hours", "1"),
    ("json", "simulate", GAME, *SESSION, *SIMULATED),
    ("csv", "simulate", GAME, *SESSION, *SIMULATED),
    ("json", "simulate", GAME, *BETS, "--rounds", "10000", "--seed", "9", "--threads", "1"),
    ("csv", "simulate", GAME, *BETS, "--rounds", "10000", "--seed", "9", "--threads", "1"),
    ("text", "nothing"),
    ("text", "odds"),
    ("text", "odds", "no-such-game/a"),
    ("text", "odds", GAME, "--box", "none"),
    ("text", "settle", GAME, "--dice", "7,5,1", *BETS),
    ("text", "serve", "--host", "0.0.0.0", "--house", "{folder}/house.toml"),
    ("json", "house", "check", "{folder}/house.toml"),
)
"""The form in which each is compared, and the words; --json or --csv is added."""

RECIPIENT = "age1chsmlze9dc9frkurd9c49dywsg8698g77srkpu4aha7m86a0laks6h7eks"
IDENTITY = "AGE-SECRET-KEY-1AZ0UJU76KN45DNQN40WT4QNA00Z8A9DCU7JH8ZHHLN8V43PXZJ3QZEELFS"

OF_HOUSE: tuple[tuple[str, ...], ...] = (
    ("json", "log", "verify"),
    ("text", "log", "verify"),
    ("json", "log", "verify", "--against", "{folder}/kept-checkpoints.jsonl",
     "--keys", "{folder}/kept-keys.json"),
    ("exact", "log", "export", "pit-1", "--jsonl"),
    ("exact", "log", "export", "pit-1", "--csv"),
    ("exact", "log", "export", "pit-3", "--jsonl"),
    ("text", "log", "export", "none"),
    ("text", "log", "replay", "pit-1"),
    ("text", "log", "replay", "pit-1", "--to", "9"),
    ("text", "log", "explain", "pit-1", "1", "{ann}"),
    ("text", "verify-dice", "pit-3"),
    ("text", "verify-dice", "pit-3", "--round", "1"),
    ("text", "verify-dice", "pit-1"),
    ("exact", "keys", "export"),
    ("exact", "keys", "export", "--pem"),
    ("text", "migrate"),
    ("json", "users", "list"),
    ("text", "users", "list"),
    ("text", "backup", "{folder}/saved"),
    ("text", "backup", "{folder}/saved", "--recipient", RECIPIENT),
    ("text", "backup", "{folder}/saved", "--recipient", RECIPIENT),
    ("text", "log", "copy", "{folder}/copy"),
    ("text", "log", "copy", "{folder}/copy"),
    ("text", "log", "rebuild"),
    ("json", "log", "verify"),
    ("text", "users", "add", "eve", "--role", "player"),
    ("text", "users", "add", "eve", "--role", "player"),
    ("text", "users", "add", "eva", "--role", "none"),
    ("text", "users", "disable", "eve"),
    ("text", "users", "enable", "eve"),
    ("text", "users", "passwd", "eve"),
    ("text", "users", "reset-codes", "dora"),
    ("text", "users", "assign", "dora", "--role", "dealer", "--until", old_house.FAR),
    ("text", "users", "token", "aude", "second", "--scope", "read", "--days", "3"),
    ("text", "users", "disable", "nobody"),
    ("text", "keys", "rotate"),
)  # fmt: skip
"""The same, with the old SQLite house as database; they run in this order."""

RESTORED = ("text", "restore", "{folder}/saved", "--identity", "{folder}/identity")


def outputs() -> dict[str, Any]:
    """Run every recorded command and return the parts of its output that are compared."""
    found: dict[str, Any] = {}
    with TemporaryDirectory(prefix="threedice-contract-") as name:
        folder = Path(name)
        own = {"XDG_DATA_HOME": name, "XDG_CONFIG_HOME": f"{name}/none"}
        with patch.dict(os.environ, own):
            paths = old_databases.sqlite_paths(folder)
            given = old_databases.restore(old_databases.SQLITE, paths)["given"]
            known = {"folder": name, "ann": given["users"]["ann"]["id"]}
            for form, *words in WITHOUT_HOUSE:
                _add(found, form, words, known, folder)
            for form, *words in OF_HOUSE:
                _add(found, form, words, known, folder, ("--database", paths.database))
            exported = run("keys", "export", "--database", paths.database).out
            (folder / "all-keys.json").write_text(exported, encoding="utf-8")
            again = ("--database", f"sqlite:///{folder}/again.sqlite")
            (folder / "identity").write_text(IDENTITY, encoding="utf-8")
            for form, *words in (RESTORED, ("text", "log", "verify"), ("text", "users", "list")):
                _add(found, form, words, known, folder, again)
            found["log copy file"] = old_databases.sqlite_layout(folder / "copy")
    return found


def _add(
    found: dict[str, Any],
    form: str,
    words: list[str],
    known: dict[str, str],
    folder: Path,
    database: tuple[str, ...] = (),
) -> None:
    flag = (f"--{form}",) if form in ("json", "csv") else ()
    name = re.sub(r"[{}]", "", " ".join([*words, *flag]))
    while name in found:
        name += " (again)"
    filled = [word.format_map(known) for word in words]
    result = run(*filled, *flag, *database)
    found[name] = {"form": form, **summarise(result, form, folder)}


def record() -> None:
    """Record commands and outputs."""
    recordings.write(COMMANDS, commands())
    recordings.write(OUTPUTS, {"outputs": outputs()})
