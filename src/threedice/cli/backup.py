"""`threedice backup`, `restore` and `keys`: what keeps a house when its machine is gone."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from threedice.cli.log import checkpoints_of, keys_of, progress, reading, rebuild_folds
from threedice.cli.output import print_line
from threedice.errors import InvalidInput, TamperedData
from threedice.house.audit.auditor import audit
from threedice.log.proof import backup as kept
from threedice.log.proof import keys as signing
from threedice.log.proof.checkpoints import CheckpointSigner
from threedice.log.stores.files import is_halted
from threedice.log.stores.urls import database_exists, default_url, state_directory

if TYPE_CHECKING:
    from pathlib import Path

    from threedice.log.store import Store


def make(url: str, file: Path, without_people: bool, unsigned: bool) -> None:
    """Copy a house into a file, up to a checkpoint signed for it, or up to its last one."""
    state = state_directory(url or default_url())
    with reading(url) as store:
        if not unsigned:
            if file.exists():  # nothing is signed for a backup that cannot be
                raise InvalidInput(f"{file} is there already; name a new file for the backup")
            _sign(store, state)
        counts = kept.create_backup(store, file, people=not without_people)
    rows = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
    print_line(f"{file}: {rows or 'an empty house'}")


def _sign(store: Store, state: Path) -> None:
    """Make a checkpoint of this moment, so that the backup ends where the house has signed."""
    without = "or, with --no-checkpoint, copy only what the house has signed already"
    if not signing.has_signing_key(state):
        raise InvalidInput(
            f"the house's signing key is not in {state}, so the backup could not be signed; make"
            f" it where the key is, {without}"
        )
    if cause := store.suspension_reason() or (is_halted(state) and f"as {state} says"):
        raise InvalidInput(f"writing is halted ({cause}); release it first, {without}")
    CheckpointSigner(store, signing.open_keys(state), state).create_checkpoint(
        time.time_ns() // 1000
    )


def put_back(url: str, file: Path, against: Path | None, keys: Path | None) -> int:
    """Put a backup into an empty database and make its books again; return the exit code."""
    trusted = keys_of(url, keys)
    if not trusted:
        raise InvalidInput("there are no keys to check the backup by; name them with --keys")
    known, garbled = checkpoints_of(url, against)
    for each in garbled:
        raise TamperedData(each.where, f"{each.what}; nothing is restored")
    with progress("restored") as advance:
        report = kept.restore_backup(
            file,
            url or default_url(),
            public_keys=trusted,
            against=known,
            progress=advance,
            verify=audit,
        )
    signing.save_known_keys(state_directory(url or default_url()), trusted)
    code = rebuild_folds(url)
    print_line(f"{report.entries} entries in {report.streams} streams restored and verified")
    return code


def export_keys(url: str, pem: bool) -> None:
    """Print public keys."""
    keys = signing.open_keys(_state_of_house(url))
    if pem:
        print_line(signing.export_pem(keys.public[keys.key_id]).decode().rstrip())
    else:
        known = signing.read_public_keys(_state_of_house(url))
        print_line(signing.export_public_keys(known.values()).decode())


def rotate_keys(url: str) -> None:
    """Sign with a new key from now on."""
    keys = signing.rotate_signing_key(_state_of_house(url))
    print_line(f"checkpoints are signed with key {keys.key_id} from now on")


def _state_of_house(url: str) -> Path:
    """Return the state directory of a house that is there."""
    url = url or default_url()
    if not database_exists(url):
        raise InvalidInput(f"there is no database at {url}; name one with --database")
    return state_directory(url)
