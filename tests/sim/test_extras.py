"""What is not installed is named, with what to install; the rest does without."""

from __future__ import annotations

import subprocess
import sys

import pytest

import threedice.sim
from threedice.sim import MissingExtra, require_modules

WITHOUT = "import sys; sys.modules.update(dict.fromkeys({names!r})); "
"""A module that is None cannot be imported, nor found."""


def without(names: set[str], code: str) -> str:
    """Run some code where some packages are not installed, and return what it prints."""
    found = subprocess.run(
        [sys.executable, "-c", WITHOUT.format(names=names) + code],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return found.stdout + found.stderr.strip().rpartition("\n")[2]


def test_simulation_without_its_extra_says_what_to_install() -> None:
    told = without({"numba", "numpy"}, "import threedice.sim")

    assert "this needs numpy and numba, which is not installed" in told
    assert "pip install 'threedice[sim]'" in told


def test_the_command_line_does_without() -> None:
    code = "import threedice.cli.simulate, threedice.cli.app; print('ok')"

    assert without({"numba", "numpy", "distributed"}, code) == "ok\n"


def test_what_is_there_is_not_asked_for() -> None:
    require_modules(("json",), "sim")
    with pytest.raises(MissingExtra, match=r"threedice\[cluster\]"):
        require_modules(("nothing_of_that_name",), "cluster")


def test_the_missing_extra_is_an_import_error_too() -> None:
    assert issubclass(MissingExtra, ImportError)


def test_every_public_name_is_there() -> None:
    assert all(getattr(threedice.sim, name) is not None for name in threedice.sim.__all__)
