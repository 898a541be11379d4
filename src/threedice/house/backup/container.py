"""The file format of a backup: a payload encrypted with age, to recipients or to a passphrase.

    MAGIC, length of the sealed identity (4 bytes), sealed identity, payload

age encrypts a stream to recipients only. So with a passphrase, the payload is encrypted to an
identity made for this file, which is encrypted with the passphrase and stored before it; otherwise
that part is empty. age authenticates every bit of both, and that the end of the payload is its end.
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import pyrage

from threedice.errors import InvalidInput, StoreFailed, TamperedData

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

MAGIC: Final = b"threedice backup 2\n"
SQLITE_MAGIC: Final = b"SQLite format 3\0"
"""The first bytes of copies of the log, and of the plain backups of earlier versions."""

MAX_SEALED_BYTES: Final = 4096
MEASUREMENTS: Final = 20
"""How often the speed of the machine is measured before a passphrase is said to take too long."""

MIN_WORK_FACTOR: Final = 18
"""Least binary logarithm of the scrypt iterations: that of the program age itself."""

MAX_SEALS: Final = 5
"""How often a passphrase is used anew before its work factor is accepted as it is."""

_LENGTH: Final = Struct(">I")


@dataclass(frozen=True, slots=True)
class Encryption:
    """Whom a backup is encrypted to: recipients, or everybody who knows the passphrase."""

    recipients: Sequence[Any] = ()
    passphrase: str = ""


@dataclass(frozen=True, slots=True)
class Decryption:
    """The identities that open a backup, or a passphrase, asked for when it is needed."""

    identities: Sequence[Any] = ()
    ask_passphrase: Callable[[], str] | None = None


def parse_recipients(texts: Sequence[str]) -> Encryption:
    """Parse recipients such as age1..., the public part of an identity."""
    try:
        return Encryption([pyrage.x25519.Recipient.from_str(text.strip()) for text in texts])
    except pyrage.RecipientError:
        raise InvalidInput(
            "a recipient has the form age1..., as age-keygen prints it as the public key"
        ) from None


def parse_identities(text: str) -> list[Any]:
    """Parse the identities of a file that age-keygen wrote."""
    lines = [line.strip() for line in text.splitlines()]
    try:
        identities = [
            pyrage.x25519.Identity.from_str(line) for line in lines if line and line[0] != "#"
        ]
    except pyrage.IdentityError:
        identities = []
    if not identities:
        raise InvalidInput("an identity file has lines AGE-SECRET-KEY-1..., as age-keygen writes")
    return identities


def is_plain_backup(file: Path) -> bool:
    """Return whether a file is a plain SQLite file, as backups of earlier versions were."""
    try:
        with file.open("rb") as opened:
            return opened.read(len(SQLITE_MAGIC)) == SQLITE_MAGIC
    except OSError as error:
        raise InvalidInput(f"{file} cannot be read: {error.strerror}") from error


def encrypt(plain: BinaryIO, target: BinaryIO, encryption: Encryption) -> int | None:
    """Write a backup with everything that `plain` holds.

    Returns the work factor of the passphrase, or None if the backup is encrypted to recipients.
    """
    recipients, sealed = encryption.recipients, b""
    if not recipients:
        identity = pyrage.x25519.Identity.generate()
        recipients = [identity.to_public()]
        sealed = seal(str(identity).encode(), encryption.passphrase)
    target.write(MAGIC + _LENGTH.pack(len(sealed)) + sealed)
    try:
        pyrage.encrypt_io(plain, target, recipients)
    except (pyrage.EncryptError, OSError) as error:
        raise StoreFailed(
            f"the backup cannot be written: {error}; check the free disk space"
        ) from error
    return read_work_factor(sealed) if sealed else None


def seal(
    plain: bytes,
    passphrase: str,
    encrypt_once: Callable[[bytes, str], bytes] = pyrage.passphrase.encrypt,
) -> bytes:
    """Encrypt with a passphrase, again if the work factor is too low, and return the strongest.

    age measures the machine for a moment, and chooses a work factor for which this machine takes a
    second. A machine that is busy in that moment seems slow, and its passphrases are easy to try.
    """
    sealed = [encrypt_once(plain, passphrase)]
    while read_work_factor(sealed[-1]) < MIN_WORK_FACTOR and len(sealed) < MAX_SEALS:
        sealed.append(encrypt_once(plain, passphrase))
    return max(sealed, key=read_work_factor)


def read_work_factor(sealed: bytes) -> int:
    r"""Return the work factor of a file that age encrypted with a passphrase.

    >>> read_work_factor(b"age-encryption.org/v1\n-> scrypt jz3GjsGx19Tzh8Urlvy3WQ 18\n...")
    18
    """
    _, _, stanza = sealed.partition(b"\n-> scrypt ")
    _salt, work_factor, *_ = stanza.split(maxsplit=2)
    return int(work_factor)


def decrypt(file: Path, plain: BinaryIO, decryption: Decryption) -> None:
    """Decrypt a backup; raise `TamperedData` if a bit of it was changed."""
    with file.open("rb") as source:
        magic, length = source.read(len(MAGIC)), source.read(_LENGTH.size)
        if magic != MAGIC or len(length) != _LENGTH.size:
            raise InvalidInput(f"{file} is not a backup, or its beginning was changed")
        (sealed_bytes,) = _LENGTH.unpack(length)
        if sealed_bytes > MAX_SEALED_BYTES:
            raise _changed(file)
        identities = decryption.identities
        if sealed_bytes:
            identities = _open_identity(file, source.read(sealed_bytes), decryption)
        elif not identities:
            raise InvalidInput(
                f"{file} is encrypted to a recipient; name the file of its identity with --identity"
            )
        try:
            pyrage.decrypt_io(source, plain, identities)
        except pyrage.DecryptError as error:
            hint = "" if sealed_bytes else ", or it is not encrypted to this identity"
            raise TamperedData(str(file), f"cannot be decrypted: it was changed{hint}") from error
        except OSError as error:
            if error.errno is not None:
                raise StoreFailed(
                    f"the backup cannot be decrypted: {error}; check the free disk space"
                ) from error
            raise _changed(file) from error


def _open_identity(file: Path, sealed: bytes, decryption: Decryption) -> list[Any]:
    if decryption.ask_passphrase is None:
        raise InvalidInput(f"{file} is encrypted with a passphrase; an identity does not open it")
    try:
        text = _decrypt_by_passphrase(sealed, decryption.ask_passphrase())
        return [pyrage.x25519.Identity.from_str(text.decode())]
    except (pyrage.DecryptError, pyrage.IdentityError, UnicodeDecodeError, OSError) as error:
        if _is_too_slow(error):
            raise InvalidInput(
                f"this machine is too slow or too busy to try the passphrase of {file}, or the "
                "beginning of the file was changed; try again, or use a faster machine"
            ) from error
        raise InvalidInput(
            f"the passphrase does not open {file}, or the beginning of the file was changed"
        ) from error


def _decrypt_by_passphrase(sealed: bytes, passphrase: str) -> bytes:
    """Decrypt with a passphrase.

    age first measures the machine for a millisecond, and refuses if the passphrase would take 16
    times the second that it took to encrypt. A machine that is busy in that millisecond seems that
    slow, so it is measured several times.
    """
    measured = 0
    while True:
        try:
            plain: bytes = pyrage.passphrase.decrypt(sealed, passphrase)
        except pyrage.DecryptError as error:
            measured += 1
            if measured == MEASUREMENTS or not _is_too_slow(error):
                raise
        else:
            return plain


def _is_too_slow(error: Exception) -> bool:
    return str(error).startswith("Excessive work")


def _changed(file: Path) -> TamperedData:
    return TamperedData(str(file), "was changed or cut off; use another copy")
