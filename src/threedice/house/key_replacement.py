"""Replace key files that are lost, with a second person and an event.

A house whose key file is lost does not start. The event comes first: it is in the log before any
new key is in use, and if the replacement is interrupted, it can simply be repeated.
"""

from __future__ import annotations

import os
from contextlib import closing, suppress
from typing import TYPE_CHECKING, NamedTuple

from threedice.errors import StoreUnusable
from threedice.house.events import KeysReplaced
from threedice.house.offline import append_house_event
from threedice.house.stream_state import HOUSE_STREAM
from threedice.identity.approval.key_custodians import replace_encryption_key
from threedice.identity.authentication.encryption_key import (
    KEY_FILE_NAME,
    create_new_key,
    has_used_encryption_key,
    open_encryption_key,
)
from threedice.identity.service import open_identity
from threedice.log.proof import keys
from threedice.log.proof.checkpoints import CheckpointSigner
from threedice.log.proof.head_macs import (
    LOG_KEY_FILE,
    adopt_another_key,
    create_another_key,
    has_used_key,
    open_head_macs,
)
from threedice.runtime import SYSTEM_RUNTIME

if TYPE_CHECKING:
    from pathlib import Path

    from threedice.db import Database
    from threedice.log.store import Store

SIGNING_KEY = f"{keys.KEYS_FOLDER}/{keys.PRIVATE_KEY_FILE}"
LOG_KEY = f"{keys.KEYS_FOLDER}/{LOG_KEY_FILE}"
PEOPLE_KEY = KEY_FILE_NAME


class KeyReplacement(NamedTuple):
    """The people who replace key files, and the reason; `second` may be empty."""

    files: list[str]
    by: str
    second: str
    reason: str


def find_missing_keys(database: Database, state_dir: Path) -> list[str]:
    """Return the key files that the house has used and that are not there any more."""
    used = {
        SIGNING_KEY: database.query("SELECT 1 FROM checkpoints LIMIT 1"),
        LOG_KEY: has_used_key(database),
        PEOPLE_KEY: has_used_encryption_key(database.query),
    }
    with suppress(StoreUnusable):  # completes a replacement that was interrupted
        if used[LOG_KEY]:
            head_macs = open_head_macs(database, state_dir)
            if used[PEOPLE_KEY]:
                open_encryption_key(database, state_dir, head_macs)
    return [
        name for name, is_used in used.items() if is_used and not os.path.lexists(state_dir / name)
    ]


def replace_keys(
    store: Store, url: str, state_dir: Path, replacement: KeyReplacement
) -> keys.SigningKeys:
    """Replace lost key files, and sign a checkpoint; return the signing keys.

    The house must be stopped.
    """
    database, files = store.database, replacement.files
    known = keys.stored_public_keys(database) | keys.read_public_keys(state_dir)
    new_signing = keys.create_new_key(state_dir) if SIGNING_KEY in files else None
    new_macs = create_another_key(state_dir) if LOG_KEY in files else None
    store.head_macs = new_macs or open_head_macs(database, state_dir)
    event = KeysReplaced(
        files=files,
        reason=replacement.reason,
        by=replacement.by,
        second=replacement.second,
        old=sorted(known) if new_signing else [],
        new=new_signing.key_id if new_signing else "",
    )
    accepted = {HOUSE_STREAM: store.head(HOUSE_STREAM)} if new_macs else {}
    append_house_event(store, event, by=replacement.by, key="keys", accepted=accepted)
    if new_macs:
        adopt_another_key(database, new_macs)
        store.head_macs = open_head_macs(database, state_dir)
    if PEOPLE_KEY in files:
        _replace_people_key(url, state_dir, replacement)
    if new_signing:
        keys.save_known_keys(state_dir, known)
        keys.install_new_key(state_dir, new_signing)
    signing_keys = keys.read_keys(state_dir)
    CheckpointSigner(store, signing_keys, state_dir).create_checkpoint(SYSTEM_RUNTIME.now())
    keys.store_public_keys(database, keys.read_public_keys(state_dir))
    return signing_keys


def _replace_people_key(url: str, state_dir: Path, replacement: KeyReplacement) -> None:
    new = create_new_key(state_dir)
    with closing(open_identity(url, state=state_dir, tables="require", new_key=new)) as identity:
        identity.context.transact(
            lambda run: replace_encryption_key(
                run,
                new,
                by=replacement.by,
                second=replacement.second,
                reason=replacement.reason,
            )
        )
        context = identity.context
        open_encryption_key(context.database, state_dir, context.head_macs)  # which installs it
