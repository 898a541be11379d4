"""Commands that only read: they leave no trace, and work on media that nobody can write."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from threedice.log.stores.files import mark_halted

if TYPE_CHECKING:
    from tests.cli.conftest import Option, Run

READ_COMMANDS: Final = (
    ("log", "verify"),
    ("log", "replay", "one"),
    ("log", "export", "one"),
    ("log", "explain", "one", "1", "ann"),
    ("verify-dice", "two"),
    ("dice-monitor", "one"),
    ("keys", "export"),
    ("users", "list"),
)

COPY_COMMANDS: Final = (("log", "copy"), ("backup",))
"""Commands that write to a new file elsewhere."""

ROOT: Final = Path(__file__).parents[2]


def stored_files(house: Path) -> dict[str, tuple[int, bytes]]:
    """Return the times and contents of all files of a house."""
    files = [each for each in sorted(house.rglob("*")) if each.is_file()]
    return {str(file): (file.stat().st_mtime_ns, file.read_bytes()) for file in files}


def leave_log(house: Path) -> None:
    """Leave a write-ahead log with a row that is not in the file, as a killed process does."""
    file = house / "house.sqlite"
    connection = sqlite3.connect(file, isolation_level=None)
    connection.execute("PRAGMA wal_autocheckpoint = 0")
    connection.execute("INSERT INTO leases VALUES ('dealer/one', 'a server', 1.0)")
    for suffix in ("", "-wal", "-shm"):
        shutil.copyfile(f"{file}{suffix}", house / f"left{suffix}")
    connection.close()
    for suffix in ("", "-wal", "-shm"):
        (house / f"left{suffix}").rename(f"{file}{suffix}")


@pytest.fixture(params=["closed", "log without index"])
def unused_house(house: Path, run: Run, request: pytest.FixtureRequest) -> Path:
    """Return a house that no process uses, with its accounts."""
    added = run(
        "users", "add", "ann", "--role", "player", "--database", str(house / "house.sqlite")
    )
    assert added.code == 0, added.err
    for lock in house.glob("house.sqlite.*ing"):
        lock.unlink()
    (house / "house.sqlite.lock").unlink()
    if request.param != "closed":
        leave_log(house)
        (house / "house.sqlite-shm").unlink()
    return house


@pytest.mark.parametrize("words", READ_COMMANDS, ids=" ".join)
def test_command_that_only_reads_leaves_no_trace(
    unused_house: Path, run: Run, words: tuple[str, ...], database: Option
) -> None:
    before = stored_files(unused_house)

    result = run(*words, *database)

    assert (result.code, result.err) == (0, "")
    assert stored_files(unused_house) == before


RUN_ALL: Final = """
import sys
from threedice.cli import main
for words in %r:
    sys.argv = ["threedice", *words, "--database", sys.argv[-1]]
    try:
        main()
    except SystemExit as stopped:
        print(f"exit {stopped.code or 0}", file=sys.stderr)
"""

MOUNT_READ_ONLY: Final = 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && shift && "$@"'


def can_mount() -> bool:
    """Return whether this user may mount something in a namespace of its own."""
    if not shutil.which("unshare"):
        return False
    words = ["unshare", "-rm", "mount", "--bind", "/tmp", "/tmp"]
    return subprocess.run(words, check=False, capture_output=True).returncode == 0


@pytest.mark.skipif(not can_mount(), reason="nothing can be mounted read-only here")
def test_commands_that_only_read_work_on_read_only_media(
    house: Path, run: Run, tmp_path: Path
) -> None:
    run("users", "add", "ann", "--role", "player", "--database", str(house / "house.sqlite"))
    leave_log(house)
    before = stored_files(house)

    copies = [(*words, f"{tmp_path}/{words[-1]}") for words in COPY_COMMANDS]
    commands = (*READ_COMMANDS, *copies)
    program = [sys.executable, "-c", RUN_ALL % (commands,), f"{house}/house.sqlite"]
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", MOUNT_READ_ONLY, "sh", str(house), *program],
        check=False,
        capture_output=True,
        cwd=ROOT,
        env=os.environ | {"THREEDICE_BACKUP_PASSPHRASE": "a long and quiet river"},
        text=True,
    )

    assert done.stderr.splitlines() == ["exit 0"] * len(commands)
    assert stored_files(house) == before


@pytest.mark.skipif(not can_mount(), reason="nothing can be mounted read-only here")
def test_release_on_read_only_media_says_that_the_house_stays_suspended(
    house: Path, run: Run
) -> None:
    database = f"{house}/house.sqlite"
    run("users", "add", "sue", "--role", "supervisor", "--database", database)
    mark_halted(house / "house.sqlite.state", "disk is full")
    before = stored_files(house)

    words = ("release", "--by", "sue", "--reason", "looked")
    program = [sys.executable, "-c", RUN_ALL % ((words,),), database]
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", MOUNT_READ_ONLY, "sh", str(house), *program],
        check=False,
        capture_output=True,
        cwd=ROOT,
        text=True,
    )

    message, code = done.stderr.splitlines()
    assert "Read-only file system" in message
    assert "nothing has changed, and the house stays suspended" in message
    assert code == "exit 2"
    assert stored_files(house) == before


def test_listing_the_accounts_of_an_empty_file_is_refused_and_creates_nothing(
    run: Run, tmp_path: Path
) -> None:
    empty = tmp_path / "empty.sqlite"
    empty.touch()
    assert run("users", "list", "--database", str(empty)).code == 2
    assert [each.name for each in tmp_path.iterdir()] == ["empty.sqlite"]
