"""Test the library on every supported Python, and the package: `.venv/bin/nox`."""

from __future__ import annotations

from pathlib import Path

import nox

nox.options.error_on_missing_interpreters = False

LIBRARY = "tests/rulebook", "tests/table", "tests/account", "tests/odds", "tests/cases"
PYTHONS = ["3.11", "3.12", "3.13", "3.14"]


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """Run the tests of the library, or those that are given after `--`."""
    session.install("--constraint", "constraints.txt", "--editable", ".[dev]")
    session.run("pytest", "-q", *(session.posargs or LIBRARY))


@nox.session(python=PYTHONS)
def newest(session: nox.Session) -> None:
    """Play every case, and run a house, from the wheel and the newest versions it allows."""
    session.run("python", "-m", "tools.versions", "newest")


@nox.session(python=PYTHONS[0])
def lowest(session: nox.Session) -> None:
    """Play every case, and run a house, from the wheel and the lowest versions it allows."""
    session.run("python", "-m", "tools.versions", "lowest")


@nox.session
def package(session: nox.Session) -> None:
    """Build the source distribution, from it the wheel, and check what an index would refuse."""
    session.install("build", "twine")
    folder = Path(session.create_tmp()).resolve()
    for file in folder.glob("threedice-*"):
        file.unlink()
    session.run("python", "-m", "build", "--outdir", str(folder))
    session.run("twine", "check", "--strict", *map(str, sorted(folder.glob("threedice-*"))))
