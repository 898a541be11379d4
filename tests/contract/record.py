"""Write all recordings anew, from the code as it is.

    python -m tests.contract.record [openapi] [log] ...

Recordings are what clients and old databases depend on. Write them anew only for an intended
change of the contract, and say which in the commit. The old databases stay: a database written by
a released version must open for ever, so a new one is added beside them instead.
"""

from __future__ import annotations

import sys

from tests.contract import adapter, files, log_bytes, openapi


def record_openapi() -> None:
    files.write("openapi.json", openapi.normalised(adapter.openapi_document()))


RECORDERS = {
    "openapi": record_openapi,
    "log": log_bytes.record,
}


def main() -> None:
    for name in sys.argv[1:] or list(RECORDERS):
        RECORDERS[name]()


if __name__ == "__main__":
    main()
