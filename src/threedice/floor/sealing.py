"""Dice that depend on every bet and on a seed that is older than all of them.

The house commits to a seed by its hash before betting opens. When betting has closed, the dice are
drawn from the seed together with the head of the table's chain at that moment. Then the seed is
revealed, and anybody can check. What that proves, and what not, is in docs/adr/0013.
"""

from __future__ import annotations

import hmac
import secrets
from hashlib import sha256
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from threedice.dice import Roll

SEED_BYTES = 32
_FAIR = 252
"""The largest multiple of six that a byte can reach; bytes from here up are drawn again."""


def new_seed() -> bytes:
    """Return a fresh seed from the operating system's cryptographic source."""
    return secrets.token_bytes(SEED_BYTES)


def commitment(seed: bytes) -> str:
    """Return the hash by which the house commits itself to a seed."""
    return sha256(seed).hexdigest()


def drawn(seed: bytes, head: bytes) -> Roll:
    """Return the dice of a round: unbiased faces from HMAC-SHA256 of the head under the seed.

    >>> drawn(bytes(32), bytes(32))
    (4, 1, 1)
    """
    faces: list[int] = []
    block = 0
    while len(faces) < 3:
        digest = hmac.digest(seed, head + block.to_bytes(4, "big"), "sha256")
        faces += [1 + byte % 6 for byte in digest if byte < _FAIR]
        block += 1
    return (faces[0], faces[1], faces[2])
