"""Fixtures and options of all tests: PostgreSQL, required programs, and citations of clauses."""

from __future__ import annotations

import faulthandler
import gc
import json
import os
import signal
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest

from tests.log.postgres_server import PostgresServer, quick_folder, running
from tests.programs import EVERYTHING_REQUIRED

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator


SECONDS_TO_EXIT = 60

# The machine's speed is not under test: a deadline would fail an example on a busy machine.
hypothesis.settings.register_profile("threedice", deadline=None)
hypothesis.settings.load_profile("threedice")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A run in the background ignores SIGINT, and its subprocesses inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)


if memory := quick_folder():
    # Tests write and sync thousands of small files: in memory they do not wait for a disk.
    os.environ["TMPDIR"] = os.environ["PYTEST_DEBUG_TEMPROOT"] = tempfile.tempdir = str(memory)


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """Start a PostgreSQL server on first use and delete it after the last test."""
    with running(parent=quick_folder()) as server:
        yield server


@pytest.fixture
def anyio_backend() -> str:
    """Run asynchronous tests on asyncio's event loop."""
    return "asyncio"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--write-citations", metavar="FILE", help="write which test cites which clause to FILE"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the long forms of tests to `make soak`, which selects them by their marker."""
    if "long" in config.getoption("markexpr"):
        return
    long = [item for item in items if item.get_closest_marker("long")]
    config.hook.pytest_deselected(items=long)
    items[:] = [item for item in items if item not in long]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a skipped test into a failed one where every test is required."""
    report = yield
    if EVERYTHING_REQUIRED and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
    return report


def pytest_unconfigure() -> None:
    """End a run that threads left by a test would keep from ending, and show their stacks."""
    faulthandler.dump_traceback_later(SECONDS_TO_EXIT, exit=True)


def pytest_collection_finish(session: pytest.Session) -> None:
    gc.freeze()  # garbage collection in tests skips the imported modules
    file = session.config.getoption("--write-citations")
    if file:
        text = json.dumps(citations(session.items), indent=1, ensure_ascii=False)
        Path(file).write_text(text + "\n", encoding="utf-8")


def citations(items: Iterable[pytest.Item]) -> dict[str, list[str]]:
    """Return the sorted tests of each cited clause.

    A marker on a parameter names the test with that parameter.
    """
    cited: dict[str, set[str]] = {}
    for item in items:
        own = getattr(item, "callspec", None)
        for marker in item.iter_markers("clause"):
            kept = own is not None and marker in own.marks
            name = item.nodeid if kept else item.nodeid.partition("[")[0]
            for citation in marker.args:
                cited.setdefault(citation, set()).add(name)
    return {citation: sorted(cited[citation]) for citation in sorted(cited)}
