"""What a house under load says of itself, word by word: what is asked, and what became of it.

The words go through a pipe to whoever may have to look after the speaker was killed. A `Told` is
the acknowledgement: from then on somebody relies on it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import msgspec

from threedice.house.commands import AnyStreamCommand
from threedice.log.records import EntrySpan

if TYPE_CHECKING:
    from collections.abc import Iterable

    from threedice.house import CommandResult

Whose = tuple[str, str]
"""The account and the key that a command is known by."""


class Asking(msgspec.Struct, frozen=True, tag=True):
    """Somebody is about to ask something."""

    account: str
    key: str
    command: AnyStreamCommand


class Told(msgspec.Struct, frozen=True, tag=True):
    """It was accepted, and whoever asked knows which entries it has caused."""

    account: str
    key: str
    spans: tuple[EntrySpan, ...]


class Refused(msgspec.Struct, frozen=True, tag=True):
    """It was refused; nothing of it is to be found."""

    account: str
    key: str


class Failed(msgspec.Struct, frozen=True, tag=True):
    """The store was away, and whoever asked does not know what became of it; he asks again."""

    account: str
    key: str
    failure: str


Word = Asking | Told | Refused | Failed
Hear = Callable[[Word], None]

_ENCODER: Final = msgspec.json.Encoder()
_DECODER: Final = msgspec.json.Decoder(Word)


def line(word: Word) -> bytes:
    """Return a word as a line for the pipe."""
    return _ENCODER.encode(word) + b"\n"


def parse(text: bytes) -> Word:
    """Return the word that a line holds."""
    word: Word = _DECODER.decode(text)
    return word


def spans_of(answer: CommandResult) -> tuple[EntrySpan, ...]:
    """Return which entries an answer tells of."""
    versions: dict[str, list[int]] = {}
    for entry in answer.entries:
        versions.setdefault(entry.stream, []).append(entry.version)
    return tuple(EntrySpan(stream, min(each), max(each)) for stream, each in versions.items())


class Heard:
    """All that was heard of a house, by command."""

    def __init__(self) -> None:
        self.asked: dict[Whose, AnyStreamCommand] = {}
        self.told: dict[Whose, tuple[EntrySpan, ...]] = {}
        self.refused: set[Whose] = set()
        self.failures: list[str] = []

    def hear(self, word: Word) -> None:
        """Take in a word."""
        whose = (word.account, word.key)
        match word:
            case Asking():
                self.asked[whose] = word.command
            case Told():
                self.told[whose] = word.spans
            case Refused():
                self.refused.add(whose)
            case Failed():
                self.failures.append(word.failure)

    def hear_all(self, words: Iterable[Word]) -> None:
        """Take in many words."""
        for word in words:
            self.hear(word)

    @property
    def in_flight(self) -> dict[Whose, AnyStreamCommand]:
        """What was asked and has got no answer."""
        answered = self.told.keys() | self.refused
        return {whose: self.asked[whose] for whose in self.asked if whose not in answered}
