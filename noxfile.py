"""Test the library on every supported Python interpreter that is installed: `.venv/bin/nox`."""

from __future__ import annotations

import nox

nox.options.error_on_missing_interpreters = False

LIBRARY = "tests/rulebook", "tests/table", "tests/account", "tests/odds", "tests/cases"


@nox.session(python=["3.11", "3.12", "3.13", "3.14"])
def tests(session: nox.Session) -> None:
    """Run the tests of the library, or those that are given after `--`."""
    session.install("--constraint", "constraints.txt", "--editable", ".[dev]")
    session.run("pytest", "-q", *(session.posargs or LIBRARY))
