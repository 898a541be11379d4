"""The encryption key for stored secrets, a file outside the database.

`people.key` in the state directory holds 32 random bytes. It encrypts TOTP secrets, and keys the
hashes of values that are only compared: recovery codes, and the names and addresses of failed
sign-ins. A stolen database reveals none of these without the file. Servers that share a database
share the file.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from hashlib import sha256
from hmac import digest as hmac
from secrets import token_bytes
from typing import TYPE_CHECKING, Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from threedice.db.sqlite import sync_directory
from threedice.errors import StoreUnusable, TamperedData
from threedice.log.proof.keys import LOST_KEY_REMEDY, damaged_key
from threedice.log.record_chain import PEOPLE_STREAM, decode_records, transact_recorded
from threedice.log.stores import schema

if TYPE_CHECKING:
    from pathlib import Path

    from threedice.db import Database, SqlRunner
    from threedice.identity.access_changes import Transaction
    from threedice.log.proof.head_macs import HeadMacs

KEY_FILE_NAME: Final = "people.key"
KEY_BYTES: Final = 32
NONCE_BYTES: Final = 12


class EncryptionKey:
    """Encrypt secrets and compute keyed hashes."""

    def __init__(self, secret: bytes) -> None:
        self._cipher = AESGCM(_derive_key(secret, "seal"))
        self._hash_key = _derive_key(secret, "mark")
        self.id = sha256(_derive_key(secret, "id")).hexdigest()[:16]

    def encrypt(self, plaintext: bytes, owner: str) -> bytes:
        """Encrypt a secret with AES-GCM, bound to its owner's id."""
        nonce = token_bytes(NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, plaintext, owner.encode())

    def decrypt(self, ciphertext: bytes, owner: str) -> bytes:
        """Decrypt a secret of an owner, or raise `TamperedData`."""
        nonce, encrypted = ciphertext[:NONCE_BYTES], ciphertext[NONCE_BYTES:]
        try:
            return self._cipher.decrypt(nonce, encrypted, owner.encode())
        except (InvalidTag, ValueError) as error:
            raise TamperedData(owner, "its stored secret cannot be decrypted") from error

    def keyed_hash(self, kind: str, text: str) -> bytes:
        """Return the HMAC-SHA-256 of a text; equal texts of different kinds differ."""
        return hmac(self._hash_key, f"{kind}\0{text}".encode(errors="surrogatepass"), "sha256")


def open_encryption_key(
    database: Database, state_directory: Path, head_macs: HeadMacs
) -> EncryptionKey:
    """Return the key of a database; the first server that opens the database creates it."""
    file = state_directory / KEY_FILE_NAME

    def work(run: Transaction) -> str:
        rows = run("SELECT value FROM people_meta WHERE name = 'key'")
        if rows:
            stored_id: str = rows[0][0]
            return stored_id
        if has_used_encryption_key(run):
            raise StoreUnusable(
                f"{database.name} has used a key for the secrets of its accounts, but the row that"
                f" names {file} is missing: somebody has deleted it. Restore a backup with"
                " threedice restore; or move that file away, and two administrators can replace it"
                " with threedice keys replace"
            )
        _create_key_file(state_directory)
        new_key = EncryptionKey(_read_key_file(file))
        run.insert(schema.identity_meta, {"name": "key", "value": new_key.id})
        return new_key.id

    key_id = transact_recorded(database, work, head_macs=head_macs)
    if not os.path.lexists(file):
        _install_new_key(state_directory, key_id)
    if not os.path.lexists(file):
        raise StoreUnusable(
            f"{file} is missing. Put it back from its copy, from a backup or from another server "
            f"that uses {database.name}; if it is lost, two administrators can replace it with "
            "threedice keys replace"
        )
    key = EncryptionKey(_read_key_file(file))
    if key.id != key_id:
        raise StoreUnusable(f"{file} is not the key of {database.name}; {LOST_KEY_REMEDY}")
    return key


def has_used_encryption_key(run: SqlRunner) -> bool:
    """Return whether anything in a database shows that it had a key."""
    if run("SELECT 1 FROM people_meta WHERE name = 'key'"):
        return True
    if run("SELECT 1 FROM people_accounts LIMIT 1"):
        return True
    return any(
        (row.table, row.key) == (schema.identity_meta.name, "key")
        for (data,) in run("SELECT data FROM entries WHERE stream = ?", (PEOPLE_STREAM,))
        for row in decode_records(data)
    )


def read_encryption_key(state_directory: Path) -> EncryptionKey:
    """Return the key in a state directory; create nothing."""
    return EncryptionKey(_read_key_file(state_directory / KEY_FILE_NAME))


def create_new_key(state_directory: Path) -> EncryptionKey:
    """Create a key under a name of its own; it is installed when the database has adopted it."""
    secret = token_bytes(KEY_BYTES)
    key = EncryptionKey(secret)
    _write_key_file(_new_key_file(state_directory, key.id), secret)
    return key


def adopt_new_key(run: Transaction, key: EncryptionKey) -> None:
    """Let a database adopt a key; nothing that another key has encrypted can be read any more."""
    run.insert(schema.identity_meta, {"name": "key", "value": key.id}, updating=["value"])


def _install_new_key(state_directory: Path, key_id: str) -> None:
    """Install a new key that the database has adopted, if there is one."""
    with suppress(FileNotFoundError):
        _new_key_file(state_directory, key_id).rename(state_directory / KEY_FILE_NAME)
        sync_directory(state_directory)


def _new_key_file(state_directory: Path, key_id: str) -> Path:
    return state_directory / f"people-{key_id}.new"


def _derive_key(secret: bytes, purpose: str) -> bytes:
    return hmac(secret, f"threedice people: {purpose}".encode(), "sha256")


def _create_key_file(state_directory: Path) -> None:
    """Create the key file unless it exists."""
    with suppress(FileExistsError):
        _write_key_file(state_directory / KEY_FILE_NAME, token_bytes(KEY_BYTES))


def _write_key_file(path: Path, secret: bytes) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
        file.write(secret)
        file.flush()
        os.fsync(file.fileno())
    sync_directory(path.parent)


def _read_key_file(file: Path) -> bytes:
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError as error:
        raise StoreUnusable(
            f"the key {file} cannot be read ({error.strerror}); it must be a plain file owned by "
            "the user that runs this program"
        ) from error
    with os.fdopen(descriptor, "rb") as opened:
        status = os.fstat(opened.fileno())
        if status.st_uid != os.geteuid():
            raise StoreUnusable(f"{file} belongs to another user; run as that user, or chown it")
        if not stat.S_ISREG(status.st_mode) or status.st_mode & 0o077:
            raise StoreUnusable(f"{file} is accessible to other users; run chmod 0600 {file}")
        secret = opened.read(KEY_BYTES + 1)
    if len(secret) != KEY_BYTES:
        raise damaged_key(file)
    return secret
