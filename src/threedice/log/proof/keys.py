"""The house's signing key, stored outside the database, and its public keys.

The folder `keys` of the state directory holds `signing.pem`, the one private key, and a record for
every public key so far. A rotation is signed by the key that it retires, so trust in the first key
extends to all later ones; the retired private key is destroyed. `known-keys.json` next to the
folder may hold public keys as well, in the form of an export.

Only a house that has never signed a checkpoint gets a key by itself. If the private key is lost,
`threedice keys replace` creates another one, which no key endorses. The database holds a copy of
the public keys, in case the folder is lost.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from secrets import token_hex
from typing import TYPE_CHECKING, Final

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
from threedice.errors import InvalidInput, OperatingFailure, StoreUnusable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from threedice.db import Database

KEYS_FOLDER, PRIVATE_KEY_FILE, KNOWN_KEYS_FILE = "keys", "signing.pem", "known-keys.json"

PUBLIC_KEYS_ROW: Final = "public-keys"
"""Name of the row in `meta` with the copy of the public keys."""

LOST_KEY_REMEDY: Final = (
    "put the right one back from its copy or from a backup; if it is lost, move this one away, and"
    " two administrators can replace it with threedice keys replace"
)

_SELECT_PUBLIC_KEYS: Final = f"SELECT value FROM meta WHERE name = '{PUBLIC_KEYS_ROW}'"
_SELECT_LAST_SIGNER: Final = "SELECT key_id FROM checkpoints ORDER BY number DESC LIMIT 1"


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


def open_house_keys(database: Database, state_dir: Path) -> SigningKeys:
    """Return the signing keys of a house; create the first one if the house has never signed.

    The key must be the one that signed the last checkpoint, or one that this key endorses.
    """
    file = state_dir / KEYS_FOLDER / PRIVATE_KEY_FILE
    for (signer,) in database.query(_SELECT_LAST_SIGNER):
        if not has_signing_key(state_dir):
            raise missing_key(file)
        key_id = key_id_of(_read_private(file).public_key())
        accepted = {key_id}
        if key_id in {signer, *read_public_keys(state_dir)}:  # else it is another house's
            accepted |= retired_keys(open_keys(state_dir).public)[key_id]
        if signer not in accepted:
            raise StoreUnusable(
                f"{file} is the key {key_id}, but the last checkpoint in {database.name} is"
                f" signed with the key {signer}, which does not endorse it; {LOST_KEY_REMEDY}"
            )
    keys = open_keys(state_dir)
    with suppress(OperatingFailure):  # a house whose disk is full starts, too, but suspended
        store_public_keys(database, read_public_keys(state_dir))
    return keys


def open_keys(state_dir: Path) -> SigningKeys:
    """Return the keys in a state directory; create the first key if there is none."""
    folder = open_keys_folder(state_dir)
    # Records are looked for first: another server that is starting writes them after its key.
    has_records = any(folder.glob("*.json"))
    if not os.path.lexists(folder / PRIVATE_KEY_FILE):
        if has_records:
            raise missing_key(folder / PRIVATE_KEY_FILE)
        _create_first_key(folder)
    private = _read_private(folder / PRIVATE_KEY_FILE)
    key_id = key_id_of(private.public_key())
    if not has_records and key_id not in read_public_keys(state_dir):
        # The first start was interrupted after it created the private key.
        public = PublicKey(key_id, _raw_bytes(private.public_key()).hex())
        _write_record(folder / f"{key_id}.json", public)
    return SigningKeys(key_id, private, _read_complete_records(state_dir, key_id))


def read_keys(state_dir: Path) -> SigningKeys:
    """Return the keys in a state directory; create and change nothing."""
    folder = state_dir / KEYS_FOLDER
    if not has_signing_key(state_dir):
        raise missing_key(folder / PRIVATE_KEY_FILE)
    _require_private(folder, folder.lstat(), stat.S_IFDIR, "0700")
    private = _read_private(folder / PRIVATE_KEY_FILE)
    key_id = key_id_of(private.public_key())
    if not any(folder.glob("*.json")) and key_id not in (known := read_public_keys(state_dir)):
        own = PublicKey(key_id, _raw_bytes(private.public_key()).hex())
        return SigningKeys(key_id, private, {key_id: own} | known)
    return SigningKeys(key_id, private, _read_complete_records(state_dir, key_id))


def _read_complete_records(state_dir: Path, key_id: str) -> dict[str, PublicKey]:
    """Return the known public keys; refuse to go on without one that leads to the current key.

    The current key cannot be endorsed again, since the private keys before it are destroyed.
    """
    known, seen = read_public_keys(state_dir), set[str]()
    while key_id and key_id not in seen:
        if key_id not in known:
            folder = state_dir / KEYS_FOLDER
            raise StoreUnusable(
                f"{folder / key_id}.json is missing, a public key of the house. Put it back from"
                " its copy or from a backup, or save the output of an earlier threedice keys"
                f" export as {state_dir / KNOWN_KEYS_FILE}; if there is none, move"
                f" {folder / PRIVATE_KEY_FILE} away and run threedice keys replace"
            )
        seen.add(key_id)
        key_id = known[key_id].endorsed_by
    return known


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


def store_public_keys(database: Database, keys: Mapping[str, PublicKey]) -> None:
    """Store a copy of the public keys in the database, unless it has them."""
    exported = export_public_keys(keys.values()).decode()
    if database.query(_SELECT_PUBLIC_KEYS) != [(exported,)]:
        sql = (
            f"INSERT INTO meta (name, value) VALUES ('{PUBLIC_KEYS_ROW}', ?)"
            " ON CONFLICT (name) DO UPDATE SET value = excluded.value"
        )
        database.transact(lambda run: run(sql, (exported,)))


def stored_public_keys(database: Database) -> dict[str, PublicKey]:
    """Return the copy of the public keys in the database; nothing proves that they are genuine."""
    with suppress(InvalidInput):
        for (exported,) in database.query(_SELECT_PUBLIC_KEYS):
            return import_public_keys(exported.encode())
    return {}


def rotate_signing_key(state_dir: Path) -> SigningKeys:
    """Create a signing key, endorse it with the old one, and destroy the old one."""
    old, new = read_keys(state_dir), create_new_key(state_dir)
    endorsement = old.sign(_endorsement_message(bytes.fromhex(new.public))).hex()
    return install_new_key(state_dir, PublicKey(new.key_id, new.public, old.key_id, endorsement))


def create_new_key(state_dir: Path) -> PublicKey:
    """Create a private key under a name of its own, to be installed later."""
    folder = open_keys_folder(state_dir)
    for leftover in folder.glob("new-*.pem"):  # from an interruption
        leftover.unlink()
    private = Ed25519PrivateKey.generate()
    key_id = key_id_of(private.public_key())
    _write_private(folder / f"new-{key_id}.pem", private)
    return PublicKey(key_id, _raw_bytes(private.public_key()).hex())


def install_new_key(state_dir: Path, key: PublicKey) -> SigningKeys:
    """Let a house sign with a new key from now on; the private key that it had is destroyed."""
    folder = open_keys_folder(state_dir)
    _write_record(folder / f"{key.key_id}.json", key)
    (folder / f"new-{key.key_id}.pem").replace(folder / PRIVATE_KEY_FILE)
    sync_directory(folder)
    return read_keys(state_dir)


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


def open_keys_folder(state_dir: Path) -> Path:
    """Return the folder of the keys, created if needed; refuse it if others can read it."""
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
    write_secret(file, key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))


def _write_record(file: Path, record: PublicKey) -> None:
    temporary = file.with_suffix(f".{token_hex(4)}.new")
    _write(temporary, msgspec.json.encode(record), mode=0o644)
    temporary.replace(file)
    sync_directory(file.parent)


def write_secret(file: Path, data: bytes) -> None:
    """Write a new file that only its owner may read, durably."""
    _write(file, data, mode=0o600)
    sync_directory(file.parent)


def _write(path: Path, data: bytes, mode: int) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with os.fdopen(os.open(path, flags, mode), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _read_private(file: Path) -> Ed25519PrivateKey:
    try:
        key = load_pem_private_key(read_secret(file), password=None)
        if not isinstance(key, Ed25519PrivateKey):
            raise TypeError("it is a key of another kind")
    except (ValueError, TypeError) as error:
        raise damaged_key(file) from error
    return key


def read_secret(file: Path) -> bytes:
    """Read a file with a key; refuse it if other users could have read or changed it."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError as error:
        raise StoreUnusable(
            f"the private key {file} cannot be read ({error.strerror}); it must be a plain file"
            " owned by the user that runs this program"
        ) from error
    with os.fdopen(descriptor, "rb") as opened:
        _require_private(file, os.fstat(opened.fileno()), stat.S_IFREG, "0600")
        return opened.read()


def _read_records(folder: Path) -> dict[str, PublicKey]:
    records = {}
    for file in sorted(folder.glob("*.json")):
        try:
            key = msgspec.json.decode(file.read_bytes(), type=PublicKey)
            if key.key_id != file.stem or not _has_matching_id(key):
                raise damaged_key(file)
        except (msgspec.DecodeError, ValueError) as error:
            raise damaged_key(file) from error
        records[key.key_id] = key
    return records


def missing_key(file: Path) -> StoreUnusable:
    """Return the error for a key file that is lost."""
    return StoreUnusable(
        f"{file} is missing. Put it back from its copy or from a backup; if it is lost, two"
        " administrators can replace it with threedice keys replace"
    )


def damaged_key(file: Path) -> StoreUnusable:
    """Return the error for a key file whose content is not a key."""
    return StoreUnusable(f"the key file {file} is damaged; {LOST_KEY_REMEDY}")


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
