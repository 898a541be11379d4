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

from threedice.errors import StoreUnfit, Tampered

if TYPE_CHECKING:
    from pathlib import Path

    from threedice.people.database import Database, Run

FILE: Final = "people.key"
SIZE: Final = 32
NONCE_SIZE: Final = 12


class Key:
    """Seals, and makes marks that only this key makes."""

    def __init__(self, secret: bytes) -> None:
        self._sealing = AESGCM(_derived(secret, "seal"))
        self._marking = _derived(secret, "mark")
        self.id = sha256(_derived(secret, "id")).hexdigest()[:16]

    def seal(self, plain: bytes, about: str) -> bytes:
        """Seal something about somebody; it opens as nothing about anybody else."""
        nonce = token_bytes(NONCE_SIZE)
        return nonce + self._sealing.encrypt(nonce, plain, about.encode())

    def unseal(self, sealed: bytes, about: str) -> bytes:
        """Open what was sealed."""
        nonce, rest = sealed[:NONCE_SIZE], sealed[NONCE_SIZE:]
        try:
            return self._sealing.decrypt(nonce, rest, about.encode())
        except (InvalidTag, ValueError) as error:
            raise Tampered(about, "its secret is not as it was sealed") from error

    def mark(self, kind: str, text: str) -> bytes:
        """Return what stands for a text, and tells nothing of it."""
        return hmac(self._marking, f"{kind}\0{text}".encode(errors="surrogatepass"), "sha256")


def open_key(database: Database, state: Path) -> Key:
    """Return the key of a database; the first server to open it makes the key for all."""

    def work(run: Run) -> str:
        found = run("SELECT value FROM people_meta WHERE name = 'key'")
        if found:
            known: str = found[0][0]
            return known
        _make(state)
        made = Key(_read(state / FILE))
        run("INSERT INTO people_meta (name, value) VALUES ('key', ?)", (made.id,))
        return made.id

    known = database.change(work)
    file = state / FILE
    if not os.path.lexists(file):
        raise StoreUnfit(
            f"{file} is missing; bring it back from where it is kept, or copy it from the state "
            f"directory of another server of {database.name}"
        )
    key = Key(_read(file))
    if key.id != known:
        raise StoreUnfit(f"{file} is not the key of {database.name}; copy that of another server")
    return key


def _derived(secret: bytes, purpose: str) -> bytes:
    return hmac(secret, f"threedice people: {purpose}".encode(), "sha256")


def _make(state: Path) -> None:
    """Make the file, if there is none."""
    state.mkdir(mode=0o700, parents=True, exist_ok=True)
    with suppress(FileExistsError):
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        with os.fdopen(os.open(state / FILE, flags, 0o600), "wb") as file:
            file.write(token_bytes(SIZE))
            file.flush()
            os.fsync(file.fileno())
        folder = os.open(state, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _read(file: Path) -> bytes:
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError as error:
        raise StoreUnfit(
            f"the key {file} cannot be read ({error.strerror}); it must be a plain file that "
            "belongs to whoever runs this program"
        ) from error
    with os.fdopen(descriptor, "rb") as opened:
        found = os.fstat(opened.fileno())
        if found.st_uid != os.geteuid():
            raise StoreUnfit(f"{file} belongs to another user; run as that user, or chown it")
        if not stat.S_ISREG(found.st_mode) or found.st_mode & 0o077:
            raise StoreUnfit(f"{file} is open to other users; run chmod 0600 {file}")
        secret = opened.read(SIZE + 1)
    if len(secret) != SIZE:
        raise StoreUnfit(f"{file} is damaged; bring it back from where a copy is kept")
    return secret
