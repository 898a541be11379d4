"""The key of people's secrets, a file outside the database: who steals the one needs the other.

`people.key` in the state directory holds 32 random bytes. It seals the secrets of codes, and makes
marks of what is compared but never shown: recovery codes, and the names and addresses of those who
failed to sign in. Servers that share a database share the file.
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

from threedice.errors import StoreUnusable, TamperedData

if TYPE_CHECKING:
    from pathlib import Path

    from threedice.identity.database import Database, SqlRunner

KEY_FILE_NAME: Final = "people.key"
KEY_BYTES: Final = 32
NONCE_BYTES: Final = 12


class EncryptionKey:
    """Seals, and makes marks that only this key makes."""

    def __init__(self, secret: bytes) -> None:
        self._cipher = AESGCM(_derive_key(secret, "seal"))
        self._hash_key = _derive_key(secret, "mark")
        self.id = sha256(_derive_key(secret, "id")).hexdigest()[:16]

    def encrypt(self, plaintext: bytes, owner: str) -> bytes:
        """Seal something about somebody; it opens as nothing about anybody else."""
        nonce = token_bytes(NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, plaintext, owner.encode())

    def decrypt(self, ciphertext: bytes, owner: str) -> bytes:
        """Open what was sealed."""
        nonce, rest = ciphertext[:NONCE_BYTES], ciphertext[NONCE_BYTES:]
        try:
            return self._cipher.decrypt(nonce, rest, owner.encode())
        except (InvalidTag, ValueError) as error:
            raise TamperedData(owner, "its secret is not as it was sealed") from error

    def keyed_hash(self, kind: str, text: str) -> bytes:
        """Return what stands for a text, and tells nothing of it."""
        return hmac(self._hash_key, f"{kind}\0{text}".encode(errors="surrogatepass"), "sha256")


def open_encryption_key(database: Database, state_directory: Path) -> EncryptionKey:
    """Return the key of a database; the first server to open it makes the key for all."""

    def work(run: SqlRunner) -> str:
        found = run("SELECT value FROM people_meta WHERE name = 'key'")
        if found:
            known: str = found[0][0]
            return known
        _create_key_file(state_directory)
        made = EncryptionKey(_read_key_file(state_directory / KEY_FILE_NAME))
        run("INSERT INTO people_meta (name, value) VALUES ('key', ?)", (made.id,))
        return made.id

    known = database.transact(work)
    file = state_directory / KEY_FILE_NAME
    if not os.path.lexists(file):
        raise StoreUnusable(
            f"{file} is missing; bring it back from where it is kept, or copy it from the state "
            f"directory of another server of {database.name}"
        )
    key = EncryptionKey(_read_key_file(file))
    if key.id != known:
        raise StoreUnusable(
            f"{file} is not the key of {database.name}; copy that of another server"
        )
    return key


def _derive_key(secret: bytes, purpose: str) -> bytes:
    return hmac(secret, f"threedice people: {purpose}".encode(), "sha256")


def _create_key_file(state_directory: Path) -> None:
    """Make the file, if there is none."""
    state_directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    with suppress(FileExistsError):
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        with os.fdopen(os.open(state_directory / KEY_FILE_NAME, flags, 0o600), "wb") as file:
            file.write(token_bytes(KEY_BYTES))
            file.flush()
            os.fsync(file.fileno())
        folder = os.open(state_directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _read_key_file(file: Path) -> bytes:
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError as error:
        raise StoreUnusable(
            f"the key {file} cannot be read ({error.strerror}); it must be a plain file that "
            "belongs to whoever runs this program"
        ) from error
    with os.fdopen(descriptor, "rb") as opened:
        found = os.fstat(opened.fileno())
        if found.st_uid != os.geteuid():
            raise StoreUnusable(f"{file} belongs to another user; run as that user, or chown it")
        if not stat.S_ISREG(found.st_mode) or found.st_mode & 0o077:
            raise StoreUnusable(f"{file} is open to other users; run chmod 0600 {file}")
        secret = opened.read(KEY_BYTES + 1)
    if len(secret) != KEY_BYTES:
        raise StoreUnusable(f"{file} is damaged; bring it back from where a copy is kept")
    return secret
