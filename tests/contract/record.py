"""Write all recordings from the current code.

    python -m tests.contract.record [openapi] [log] ...

Recordings are what clients and old databases depend on. Rewrite them only for an intended
change of the contract, and name it in the commit. The old databases stay: a database written by
a released version must open for ever, so `databases` runs only when it is named.
"""

from __future__ import annotations

import sys

from tests.contract import (
    adapter,
    cli,
    live,
    log_bytes,
    old_databases,
    openapi,
    recordings,
    responses,
)


def record_openapi() -> None:
    recordings.write("openapi.json", openapi.normalise(adapter.openapi_document()))


RECORDERS = {
    "openapi": record_openapi,
    "log": log_bytes.record,
    "responses": responses.record,
    "live": live.record,
    "journal": live.record_journal,
    "cli": cli.record,
    "observations": old_databases.observe,
    "databases": old_databases.record,
}


def main() -> None:
    for name in sys.argv[1:] or [each for each in RECORDERS if each != "databases"]:
        RECORDERS[name]()


if __name__ == "__main__":
    main()
