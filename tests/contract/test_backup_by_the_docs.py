"""A house moved to another machine by the commands in docs/running-a-house.md, and nothing else."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyrage
import pytest

from tests.api.serve_process import ROOT, start_server
from tests.contract import old_databases, old_house, recordings
from tests.contract.site import Site, serving

if TYPE_CHECKING:
    from pathlib import Path

    from tests.log.postgres_server import PostgresServer

MANUAL = ROOT / "docs" / "running-a-house.md"
FILES = ("house.backup", "passphrase.txt")


def read_commands() -> list[tuple[str, list[str]]]:
    """Return the commands of the section about backups, each with its comment."""
    text = MANUAL.read_text(encoding="utf-8")
    section = text.split("\n## Backup and restore\n")[1].split("\n## ")[0]
    block = section.split("```sh\n")[1].split("```")[0]
    lines = [line.strip().partition("#") for line in block.splitlines()]
    return [(comment.strip(), shlex.split(words)) for words, _, comment in lines]


@dataclass(frozen=True)
class Machine:
    """A machine with a user's own folders and working directory."""

    folder: Path

    @property
    def work(self) -> Path:
        return self.folder / "work"

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def own(self) -> dict[str, str]:
        return {"XDG_DATA_HOME": str(self.data), "XDG_CONFIG_HOME": str(self.data / "none")}

    def run(self, *words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", *words],
            cwd=self.work,
            env=os.environ | self.own,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, (words, done.stderr)
        return done.stdout


@pytest.fixture
def old_machine(tmp_path: Path) -> Machine:
    """Return a machine with a recorded house in the user's own folders."""
    machine = Machine(tmp_path / "old")
    machine.work.mkdir(parents=True)
    folder = machine.data / "threedice"
    folder.mkdir(parents=True)
    old_databases.restore(old_databases.SQLITE, old_databases.sqlite_paths(folder))
    (machine.data / "none/threedice").mkdir(parents=True)
    (folder / "house.toml").rename(machine.data / "none/threedice/house.toml")
    (machine.work / "passphrase.txt").write_text("four words are enough\n")
    (machine.work / "passphrase.txt").chmod(0o600)
    return machine


def test_house_moves_to_another_machine_by_the_commands_of_the_manual(
    old_machine: Machine, tmp_path: Path
) -> None:
    recorded = recordings.read(f"{old_databases.SQLITE}.json")
    commands, new_machine = read_commands(), Machine(tmp_path / "new")
    new_machine.work.mkdir(parents=True)

    assert len(commands) <= 5
    for comment, words in commands[:-1]:
        if "new machine" in comment and not list(new_machine.work.iterdir()):
            for name in FILES:
                shutil.copy(old_machine.work / name, new_machine.work)
            shutil.rmtree(old_machine.folder)
        (new_machine if "new machine" in comment else old_machine).run(*words)

    program, command, *options = commands[-1][1]
    assert (program, command) == ("threedice", "serve")
    with start_server(new_machine.data, *options, "--port", "0") as process, ExitStack() as exits:
        port = process.wait_until_listening()
        site = Site(f"http://127.0.0.1:{port}", process, "after", exits)
        crew = old_house.Crew.sign_in(site, recorded["given"]["users"])
        seen = old_house.observe(crew, recorded["given"])
        assert old_databases.common_part(recorded["seen"], seen) == recorded["seen"]
        assert site.user(recorded["given"]["token"]).get("/api/tables")
        crew.request_and_approve({"type": "ResolveInterruption", "known": [6, 5, 5]})
        old_house.finish_tai_sai(crew, (6, 5, 5))
        process.send_signal()
        assert process.wait() == 0, process.errors
    assert "no findings" in new_machine.run("threedice", "log", "verify")


@pytest.mark.long
@pytest.mark.parametrize("source", [old_databases.SQLITE, old_databases.POSTGRES])
def test_house_moves_to_the_other_kind_of_database(
    source: str, tmp_path: Path, postgres: PostgresServer
) -> None:
    machine = Machine(tmp_path)
    machine.work.mkdir()
    sqlite, other = old_databases.sqlite_paths(tmp_path), postgres.fresh()
    if source == old_databases.SQLITE:
        paths, target = sqlite, other
    else:
        paths, target = old_databases.postgres_paths(tmp_path, other), sqlite.database
    recorded = old_databases.restore(source, paths)
    identity = pyrage.x25519.Identity.generate()
    (machine.work / "identity").write_text(str(identity))

    recipient = ("--recipient", str(identity.to_public()), "--house", str(paths.house_file))
    machine.run("threedice", "backup", "saved", *recipient, "--database", paths.database)
    words = ("--identity", "identity", "--house", "moved.toml", "--database", target)
    machine.run("threedice", "restore", "saved", *words)

    with serving(target, machine.data, machine.work / "moved.toml", "after") as site:
        crew = old_house.Crew.sign_in(site, recorded["given"]["users"])
        seen = old_house.observe(crew, recorded["given"])
        assert old_databases.common_part(recorded["seen"], seen) == recorded["seen"]
        assert old_house.play_on(crew) == recorded["after"]
    assert "no findings" in machine.run("threedice", "log", "verify", "--database", target)
