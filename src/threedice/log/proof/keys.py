"""The house's signing key, stored outside the database, and its public keys.

The folder `keys` of the state directory holds `signing.pem`, the one private key, and a record for
every public key so far. A rotation is signed by the key that it retires, so trust in the first key
extends to all later ones; the retired private key is destroyed.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from secrets import token_hex
from typing import TYPE_CHECKING

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from threedice.db.sqlite import sync_directory
from threedice.errors import InvalidInput, StoreUnusable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

KEYS_FOLDER, PRIVATE_KEY_FILE, KNOWN_KEYS_FILE = "keys", "signing.pem", "known-keys.json"


class PublicKey(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A key that verifies checkpoints, and the endorsement by the key before it, if any."""

    key_id: str
    public: str
    endorsed_by: str = ""
    endorsement: str = ""


@dataclass(frozen=True, slots=True)
class SigningKeys:
    """The private key that a server signs with, and all known public keys."""

    key_id: str
    private: Ed25519PrivateKey
    public: Mapping[str, PublicKey]

    def sign(self, body: bytes) -> bytes:
        """Sign bytes as the house."""
        return self.private.sign(body)


def open_keys(state_dir: Path) -> SigningKeys:
    """Return the keys in a state directory; create the first key if there is none."""
    folder = _folder(state_dir)
    # Records are looked for first: another server that is starting writes them after its key.
    has_records = any(folder.glob("*.json"))
    if not os.path.lexists(folder / PRIVATE_KEY_FILE):
        if has_records:
            raise StoreUnusable(
                f"{folder / PRIVATE_KEY_FILE} is missing; restore it from its copy, or move"
                f" {folder} away to start with a new key, and inform those who verify the log"
            )
        _create_first_key(folder)
    private = _read_private(folder / PRIVATE_KEY_FILE)
    key_id = key_id_of(private.public_key())
    record = folder / f"{key_id}.json"
    if not record.exists():  # the first start was interrupted after it created the private key
        _write_record(record, PublicKey(key_id, _raw_bytes(private.public_key()).hex()))
    return SigningKeys(key_id, private, _read_records(folder))


def has_signing_key(state_dir: Path) -> bool:
    """Return whether a state directory has a private key, without creating one."""
    return os.path.lexists(state_dir / KEYS_FOLDER / PRIVATE_KEY_FILE)


def read_public_keys(state_dir: Path) -> dict[str, PublicKey]:
    """Return the public keys of a state directory, its own and imported ones."""
    folder, imported = state_dir / KEYS_FOLDER, state_dir / KNOWN_KEYS_FILE
    own = dict(_read_records(folder)) if folder.is_dir() else {}
    return (import_public_keys(imported.read_bytes()) if imported.exists() else {}) | own


def save_known_keys(state_dir: Path, keys: Mapping[str, PublicKey]) -> None:
    """Save the public keys of the house that a database was restored from."""
    state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    (state_dir / KNOWN_KEYS_FILE).write_bytes(export_public_keys(keys.values()))


def rotate_signing_key(state_dir: Path) -> SigningKeys:
    """Create a signing key, endorse it with the old one, and destroy the old one."""
    folder, old = _folder(state_dir), open_keys(state_dir)
    for leftover in folder.glob("new-*.pem"):  # from an interrupted rotation
        leftover.unlink()
    new = Ed25519PrivateKey.generate()
    key_id, raw = key_id_of(new.public_key()), _raw_bytes(new.public_key())
    file = folder / f"new-{key_id}.pem"
    _write_private(file, new)
    record = PublicKey(key_id, raw.hex(), old.key_id, old.sign(_endorsement_message(raw)).hex())
    _write_record(folder / f"{key_id}.json", record)
    file.replace(folder / PRIVATE_KEY_FILE)
    sync_directory(folder)
    return open_keys(state_dir)


def key_id_of(key: Ed25519PublicKey) -> str:
    """Return the id of a key: the first 16 hexadecimal digits of its SHA-256."""
    return sha256(_raw_bytes(key)).hexdigest()[:16]


def is_valid_signature(key: PublicKey, body: bytes, signature: bytes) -> bool:
    """Return whether a key has signed a body."""
    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(key.public)).verify(signature, body)
    except (InvalidSignature, ValueError):
        return False
    return True


# --- exporting and trusting public keys ---------------------------------------------------------


def export_public_keys(keys: Iterable[PublicKey]) -> bytes:
    """Encode public keys and their endorsements as JSON."""
    ordered = sorted(keys, key=lambda key: key.key_id)
    return msgspec.json.format(msgspec.json.encode(ordered), indent=1) + b"\n"


def export_pem(key: PublicKey) -> bytes:
    """Encode one public key as PEM, for other programs."""
    public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(key.public))
    return public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def import_public_keys(data: bytes) -> dict[str, PublicKey]:
    """Decode keys written by `export_public_keys`, checking that their ids match."""
    try:
        keys = msgspec.json.decode(data, type=list[PublicKey])
        mismatched = [key.key_id for key in keys if not _has_matching_id(key)]
    except (msgspec.DecodeError, ValueError) as error:
        raise InvalidInput(f"these are not exported public keys: {error}") from error
    if mismatched:
        raise InvalidInput(f"public key {mismatched[0]} does not match its id; get the file again")
    return {key.key_id: key for key in keys}


def trusted_keys(
    trusted_roots: Mapping[str, PublicKey], offered: Mapping[str, PublicKey]
) -> dict[str, PublicKey]:
    """Return the trusted keys and those offered that they endorse, directly or not.

    A signature by any other key proves nothing.
    """
    trusted = dict(trusted_roots)
    remaining = {key_id: key for key_id, key in offered.items() if key_id not in trusted}
    while endorsed := {
        key_id: key for key_id, key in remaining.items() if _is_endorsed(key, trusted)
    }:
        trusted.update(endorsed)
        remaining = {key_id: key for key_id, key in remaining.items() if key_id not in endorsed}
    return trusted


def retired_keys(keys: Mapping[str, PublicKey]) -> dict[str, frozenset[str]]:
    """Return the keys that each key has retired: its endorser and all keys before that."""
    return {key_id: frozenset(_retired_before(key, keys)) for key_id, key in keys.items()}


def _retired_before(key: PublicKey, keys: Mapping[str, PublicKey]) -> set[str]:
    retired = set[str]()
    while _is_endorsed(key, keys) and key.endorsed_by not in retired:
        retired.add(key.endorsed_by)
        key = keys[key.endorsed_by]
    return retired


def _is_endorsed(key: PublicKey, known: Mapping[str, PublicKey]) -> bool:
    endorser = known.get(key.endorsed_by)
    message = _endorsement_message(bytes.fromhex(key.public))
    return endorser is not None and is_valid_signature(
        endorser, message, bytes.fromhex(key.endorsement)
    )


def _endorsement_message(raw: bytes) -> bytes:
    """Return the message that a retiring key signs; its prefix fits no checkpoint."""
    return b"threedice: the house signs from now on with " + raw


def _has_matching_id(key: PublicKey) -> bool:
    raw = bytes.fromhex(key.public)
    bytes.fromhex(key.endorsement)
    return len(raw) == 32 and sha256(raw).hexdigest()[:16] == key.key_id


def _raw_bytes(key: Ed25519PublicKey) -> bytes:
    return key.public_bytes(Encoding.Raw, PublicFormat.Raw)


# --- files --------------------------------------------------------------------------------------


def _folder(state_dir: Path) -> Path:
    folder = state_dir / KEYS_FOLDER
    for directory in (state_dir, folder):
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    _require_private(folder, folder.lstat(), stat.S_IFDIR, "0700")
    return folder


def _create_first_key(folder: Path) -> None:
    """Create the first private key; one of several servers starting at once wins."""
    key = Ed25519PrivateKey.generate()
    file = folder / f"new-{key_id_of(key.public_key())}.pem"
    _write_private(file, key)
    with suppress(FileExistsError):
        os.link(file, folder / PRIVATE_KEY_FILE)
    file.unlink()
    sync_directory(folder)


def _write_private(file: Path, key: Ed25519PrivateKey) -> None:
    _write(file, key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()), mode=0o600)
    sync_directory(file.parent)


def _write_record(file: Path, record: PublicKey) -> None:
    temporary = file.with_suffix(f".{token_hex(4)}.new")
    _write(temporary, msgspec.json.encode(record), mode=0o644)
    temporary.replace(file)
    sync_directory(file.parent)


def _write(path: Path, data: bytes, mode: int) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with os.fdopen(os.open(path, flags, mode), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _read_private(file: Path) -> Ed25519PrivateKey:
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError as error:
        raise StoreUnusable(
            f"the private key {file} cannot be read ({error.strerror}); it must be a plain file"
            " owned by the user that runs this program"
        ) from error
    with os.fdopen(descriptor, "rb") as opened:
        _require_private(file, os.fstat(opened.fileno()), stat.S_IFREG, "0600")
        pem = opened.read()
    try:
        key = load_pem_private_key(pem, password=None)
        if not isinstance(key, Ed25519PrivateKey):
            raise TypeError("it is a key of another kind")
    except (ValueError, TypeError) as error:
        raise _damaged(file) from error
    return key


def _read_records(folder: Path) -> dict[str, PublicKey]:
    records = {}
    for file in sorted(folder.glob("*.json")):
        try:
            key = msgspec.json.decode(file.read_bytes(), type=PublicKey)
            if key.key_id != file.stem or not _has_matching_id(key):
                raise _damaged(file)
        except (msgspec.DecodeError, ValueError) as error:
            raise _damaged(file) from error
        records[key.key_id] = key
    return records


def _damaged(file: Path) -> StoreUnusable:
    return StoreUnusable(f"the key file {file} is damaged; restore it from its copy")


def _require_private(path: Path, status: os.stat_result, kind: int, mode: str) -> None:
    """Refuse a key that other users could have read or changed."""
    if stat.S_IFMT(status.st_mode) != kind:
        raise StoreUnusable(
            f"{path} is not a plain file or folder; move it away and find out who put it there"
        )
    if status.st_uid != os.geteuid():
        raise StoreUnusable(
            f"{path} belongs to another user; run as that user, or chown it if that is a mistake"
        )
    if status.st_mode & 0o077:
        raise StoreUnusable(
            f"{path} is open to other users; run chmod {mode} {path}, and rotate the key if they"
            " may have read it"
        )
