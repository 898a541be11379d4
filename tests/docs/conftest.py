"""The documentation site, built once for all tests of it."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

import pytest
from tools import pyodide

from tests.programs import EVERYTHING_REQUIRED

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site as `make docs` does, in strict mode, and return its folder."""
    if not all(file.exists() for file in pyodide.files()):
        reason = "no Pyodide is fetched for the site: run `make docs`"
        pytest.fail(reason) if EVERYTHING_REQUIRED else pytest.skip(reason)
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT, check=False, capture_output=True, text=True,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder


class QuietHandler(SimpleHTTPRequestHandler):
    """A handler of files that does not write every request to standard error."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Write nothing."""


@pytest.fixture(scope="session")
def site_url(site: Path) -> Iterator[str]:
    """Serve the site as plain files, and return its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=str(site)))
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()
