"""The contents of a backup: a database, the files of the state directory, and a signed manifest.

    database (an SQLite file), manifest (JSON), signature (64 bytes), length of the manifest

The manifest names the heads of all streams and the hash of the database, so its signature covers
every row, also those after the last checkpoint and those of people. Decrypting a backup proves
that nobody changed it; the signature proves that the house wrote it.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from hashlib import sha256
from struct import Struct
from typing import TYPE_CHECKING, Final

import msgspec

from threedice.db.sqlite import sync_directory
from threedice.errors import StoreUnusable, TamperedData
from threedice.identity.authentication.encryption_key import KEY_FILE_NAME
from threedice.log.proof import keys
from threedice.log.proof.checkpoints import HexDigest, StreamVersion

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from threedice.log.proof.keys import PublicKey, SigningKeys

HOUSE_FILE_NAME: Final = "house.toml"
"""The copy of the house file in the state directory, written whenever the house is served."""

SIGNING_KEY_PATH: Final = f"{keys.KEYS_FOLDER}/{keys.PRIVATE_KEY_FILE}"
SIGNATURE_BYTES: Final = 64
_STATE_FILE: Final = re.compile(r"people\.key|known-keys\.json|keys/[A-Za-z0-9][A-Za-z0-9._-]*")
"""The files of a state directory that a backup may write."""

_LENGTH: Final = Struct(">I")
_READ_BYTES: Final = 1 << 20
_encoder: Final = msgspec.json.Encoder(order="sorted")


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="format", tag=2):
    """The signed content of a backup; `checkpoint` is the number of the last one, or 0."""

    program: str
    created: int
    checkpoint: int
    heads: dict[str, tuple[StreamVersion, HexDigest]]
    database: HexDigest
    key_id: str
    files: dict[str, bytes]
    house_file: bytes | None

    def public_keys(self) -> dict[str, PublicKey]:
        """Return the public keys in the backup."""
        records = [
            _decode_key(path, data)
            for path, data in self.files.items()
            if path.startswith(f"{keys.KEYS_FOLDER}/") and path.endswith(".json")
        ]
        imported = self.files.get(keys.KNOWN_KEYS_FILE)
        known = keys.import_public_keys(imported) if imported else {}
        return known | keys.import_public_keys(keys.export_public_keys(records))


def _decode_key(path: str, data: bytes) -> PublicKey:
    try:
        return msgspec.json.decode(data, type=keys.PublicKey)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise TamperedData(f"{path} in the backup", f"is not a public key: {error}") from error


# --- the manifest after the database ------------------------------------------------------------


def append_manifest(file: Path, manifest: Manifest, signing_keys: SigningKeys) -> None:
    """Append the signed manifest to the database."""
    data = _encoder.encode(manifest)
    with file.open("ab") as opened:
        opened.write(data + signing_keys.sign(_signed_message(data)) + _LENGTH.pack(len(data)))


def split_manifest(file: Path) -> tuple[Manifest, bytes, bytes]:
    """Cut the manifest off a decrypted backup; return it with its bytes and its signature.

    The file is then the database; its hash must be the one in the manifest.
    """
    with file.open("r+b") as opened:
        end = opened.seek(0, os.SEEK_END) - _LENGTH.size
        opened.seek(max(end, 0))
        (length,) = _LENGTH.unpack(opened.read(_LENGTH.size).ljust(_LENGTH.size, b"\0"))
        start = end - SIGNATURE_BYTES - length
        if start < 0:
            raise TamperedData("the backup", "holds no manifest")
        opened.seek(start)
        data, signature = opened.read(length), opened.read(SIGNATURE_BYTES)
        opened.truncate(start)
    try:
        manifest = msgspec.json.decode(data, type=Manifest)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise TamperedData("the manifest of the backup", f"cannot be read: {error}") from error
    for path in manifest.files:
        if not _STATE_FILE.fullmatch(path):
            raise TamperedData("the manifest of the backup", f"names the unknown file {path!r}")
    if hash_file(file) != manifest.database:
        raise TamperedData("the database in the backup", "is not the one that was signed")
    return manifest, data, signature


def is_signed_by(key: PublicKey, manifest: bytes, signature: bytes) -> bool:
    """Return whether a key has signed the manifest."""
    return keys.is_valid_signature(key, _signed_message(manifest), signature)


def _signed_message(manifest: bytes) -> bytes:
    """Return the message that is signed; its prefix fits no checkpoint."""
    return b"threedice: the house wrote a backup with " + manifest


def hash_file(file: Path) -> str:
    """Return the SHA-256 of a file."""
    digest = sha256()
    with file.open("rb") as opened:
        while block := opened.read(_READ_BYTES):
            digest.update(block)
    return digest.hexdigest()


# --- the state directory ------------------------------------------------------------------------


def read_state_files(state_dir: Path) -> dict[str, bytes]:
    """Return the files that a house cannot do without, by their path in the state directory.

    These are the keys. Read again until two readings agree, as a key may be rotated meanwhile.
    """
    files = _read_state_files_once(state_dir)
    while (again := _read_state_files_once(state_dir)) != files:
        files = again
    return files


def _read_state_files_once(state_dir: Path) -> dict[str, bytes]:
    folder = state_dir / keys.KEYS_FOLDER
    found = [
        path
        for path in sorted(folder.glob("*"))
        if path.suffix != ".new" and not path.name.startswith("new-")
    ]
    found += [state_dir / name for name in (KEY_FILE_NAME, keys.KNOWN_KEYS_FILE)]
    return {
        path.relative_to(state_dir).as_posix(): path.read_bytes()
        for path in found
        if path.is_file()
    }


def plan_state_files(manifest: Manifest, state_dir: Path) -> dict[str, bytes]:
    """Return the files of a backup that a state directory lacks; refuse another house's directory.

    If the signing key was rotated or replaced since the backup, the directory keeps the later one.
    """
    own = read_state_files(state_dir)
    is_rotated = SIGNING_KEY_PATH in own and manifest.key_id in keys.read_public_keys(state_dir)
    missing = {}
    for path, data in manifest.files.items():
        if path == SIGNING_KEY_PATH and is_rotated:
            continue
        if path == keys.KNOWN_KEYS_FILE and path in own:
            continue
        if own.get(path, data) != data:
            raise StoreUnusable(
                f"{state_dir / path} differs from the one in the backup; move it away, and the one"
                " in the backup takes its place. If it belongs to another house, name another"
                " database instead"
            )
        if path not in own:
            missing[path] = data
    return missing


def write_state_files(files: Mapping[str, bytes], state_dir: Path) -> None:
    """Write files into a state directory, each completely or not at all."""
    for path, data in files.items():
        write_file(state_dir / path, data)


def write_file(file: Path, data: bytes) -> None:
    """Write a file that only its owner can read, replacing an existing one at once."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = file.with_name(f"{file.name}.new")
    temporary.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with os.fdopen(os.open(temporary, flags, 0o600), "wb") as opened:
        opened.write(data)
        opened.flush()
        os.fsync(opened.fileno())
    temporary.replace(file)
    sync_directory(file.parent)


def save_house_file(file: Path, state_dir: Path) -> None:
    """Copy the house file into the state directory, where a backup finds it.

    A disk that is full or read-only must not keep the house from starting.
    """
    with suppress(OSError):
        data, copy = file.read_bytes(), state_dir / HOUSE_FILE_NAME
        if not copy.exists() or copy.read_bytes() != data:
            write_file(copy, data)
