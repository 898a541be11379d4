"""Programs of the operating system that some tests need; `make tools` installs them."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Final

import pytest

EVERYTHING_REQUIRED: Final = os.environ.get("THREEDICE_REQUIRE_ALL") == "1"
"""Under `make test`: a test that cannot run is a failure."""

UNPACKED_NGINX: Final = Path(__file__).parents[1] / ".venv" / "nginx" / "usr" / "sbin" / "nginx"


@cache
def postgres_binaries() -> Path:
    """Return the folder of PostgreSQL's server programs, or skip the test."""
    candidates = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    if pg_config := shutil.which("pg_config"):
        answer = subprocess.run([pg_config, "--bindir"], check=True, capture_output=True, text=True)
        candidates.insert(0, Path(answer.stdout.strip()))
    found = next((folder for folder in candidates if (folder / "initdb").exists()), None)
    return found or _missing("PostgreSQL server")


@cache
def chromium() -> Path:
    """Return Chromium, preferably its headless shell, or skip the test."""
    names = "chromium-headless-shell", "chromium", "chromium-browser"
    found = next(filter(None, map(shutil.which, names)), None)
    return Path(found) if found else _missing("Chromium")


@cache
def nginx() -> Path:
    """Return nginx, the installed one or the one that `make tools` unpacked, or skip the test."""
    if installed := shutil.which("nginx"):
        return Path(installed)
    return UNPACKED_NGINX if UNPACKED_NGINX.exists() else _missing("nginx")


def _missing(program: str) -> Path:
    reason = f"no {program} is installed: run `make tools`"
    if EVERYTHING_REQUIRED:
        pytest.fail(reason)
    pytest.skip(reason)
