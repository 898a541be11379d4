"""A process that verifies and replays some streams of a house (see `processes`).

Started with its connection as standard input: `python -m threedice.house.audit.worker`.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Final

from threedice.errors import ThreediceError
from threedice.house.audit.auditor import Auditor, ReplayResults
from threedice.house.interpreter import reduced_gc
from threedice.log.proof.verification import StreamsCheck, check_streams
from threedice.version import build_id

if TYPE_CHECKING:
    from threedice.house.audit.processes import AuditTask
    from threedice.log.stores.rows import LogRows

PROGRESS_ENTRIES: Final = 5_000


def main() -> None:
    """Take tasks until the process that started this one closes the connection."""
    with suppress(EOFError, OSError), Connection(os.dup(sys.stdin.fileno())) as connection:
        connection.send(build_id())
        open_snapshot = connection.recv()
        # An error ends this process; the one that started it then does the work and reports it.
        with suppress(ThreediceError), reduced_gc(), open_snapshot() as rows:
            connection.send(None)
            auditor = Auditor(rows)
            while True:
                connection.send(audit_streams(rows, auditor, connection.recv(), connection))


def audit_streams(
    rows: LogRows, auditor: Auditor, task: AuditTask, connection: Connection
) -> tuple[StreamsCheck, ReplayResults]:
    """Verify and replay the streams of a task, and report the progress meanwhile."""
    reported, checks = 0, StreamsCheck()

    def progress(done: int, total: int) -> None:
        nonlocal reported
        if done >= min(total, reported + PROGRESS_ENTRIES):
            connection.send(done - reported)
            reported = done

    check_streams(rows, task.streams, task.signed, task.key, auditor, progress, checks)
    return checks, auditor.take_results()


if __name__ == "__main__":
    main()
