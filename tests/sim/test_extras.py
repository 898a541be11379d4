"""Missing extras: the error names what to install, and the rest works without them."""

from __future__ import annotations

import subprocess
import sys

import pytest

import threedice.sim
from threedice.sim import MissingExtra, require_modules

WITHOUT = "import sys; sys.modules.update(dict.fromkeys({names!r})); "
"""A module that is None cannot be imported, nor found."""


def run_without(names: set[str], code: str) -> str:
    """Run code as if some packages were not installed, and return its output."""
    found = subprocess.run(
        [sys.executable, "-c", WITHOUT.format(names=names) + code],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return found.stdout + found.stderr.strip().rpartition("\n")[2]


def test_simulation_without_its_extra_names_the_extra_to_install() -> None:
    output = run_without({"numba", "numpy"}, "import threedice.sim")

    assert "this needs numpy and numba, which is not installed" in output
    assert "pip install 'threedice[sim]'" in output


def test_command_line_works_without_the_simulation_extra() -> None:
    code = "import threedice.cli.simulate, threedice.cli.app; print('ok')"

    assert run_without({"numba", "numpy", "distributed"}, code) == "ok\n"


def test_only_missing_modules_raise_missing_extra() -> None:
    require_modules(("json",), "sim")
    with pytest.raises(MissingExtra, match=r"threedice\[cluster\]"):
        require_modules(("nothing_of_that_name",), "cluster")


def test_missing_extra_is_an_import_error() -> None:
    assert issubclass(MissingExtra, ImportError)


def test_every_public_name_of_the_simulation_resolves() -> None:
    assert all(getattr(threedice.sim, name) is not None for name in threedice.sim.__all__)
