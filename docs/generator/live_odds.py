"""The files that the live odds page loads: Python for browsers, and this package as a wheel."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mkdocs.exceptions import PluginError
from tools import pyodide

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT: Final = Path(__file__).parents[2]
BUILT: Final = ROOT / "build" / "live-odds"


def live_odds_files() -> Iterator[tuple[str, Path]]:
    """Yield the place on the site and the path of every such file."""
    missing = [file.name for file in pyodide.files() if not file.exists()]
    if missing:
        raise PluginError(f"{', '.join(missing)} missing for the live odds page: run `make docs`")
    wheel = _build_wheel()
    packages = BUILT / "packages.json"
    packages.write_text(json.dumps([pyodide.MSGSPEC_WHEEL, wheel.name]), encoding="utf-8")
    for file in (*pyodide.files(), wheel, packages):
        yield f"live-odds/{file.name}", file


def _build_wheel() -> Path:
    """Build the package's wheel, with the screens as they are: the page does not use them."""
    shutil.rmtree(BUILT, ignore_errors=True)
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(BUILT)],
        cwd=ROOT, check=True, capture_output=True,
        env={**os.environ, "HATCH_BUILD_NO_HOOKS": "true"},
    )  # fmt: skip
    (wheel,) = BUILT.glob("*.whl")
    return wheel
