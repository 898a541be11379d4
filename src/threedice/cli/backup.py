"""`threedice backup`, `restore` and `keys`: what keeps a house when its machine is gone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from threedice.cli.log import keys_of, progress, reading
from threedice.cli.output import print_line
from threedice.log import backup as kept
from threedice.log import keys as signing
from threedice.log.checkpoints import read_checkpoints
from threedice.log.opening import default_url, state_directory

if TYPE_CHECKING:
    from pathlib import Path


def make(url: str, file: Path, without_people: bool) -> None:
    """Copy a house into a file."""
    with reading(url) as store:
        counts = kept.backup(store, file, people=not without_people)
    rows = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
    print_line(f"{file}: {rows or 'an empty house'}")


def put_back(url: str, file: Path, against: Path | None, keys: Path | None) -> None:
    """Put a backup into an empty database."""
    known = read_checkpoints(against) if against else []
    with progress("restored") as advance:
        report = kept.restore(
            file,
            url or default_url(),
            public_keys=keys_of(url, keys),
            against=known,
            progress=advance,
        )
    print_line(f"{report.entries} entries in {report.streams} streams restored and verified")


def export_keys(url: str, pem: bool) -> None:
    """Print public keys."""
    keys = signing.open_keys(state_directory(url or default_url()))
    if pem:
        print_line(signing.export_pem(keys.public[keys.key_id]).decode().rstrip())
    else:
        print_line(signing.export_json(keys.public.values()).decode())


def rotate_keys(url: str) -> None:
    """Sign with a new key from now on."""
    keys = signing.rotate(state_directory(url or default_url()))
    print_line(f"checkpoints are signed with key {keys.key_id} from now on")
