"""Balances as a fold over postings, and the accounts that may not go below zero."""

from __future__ import annotations

from typing import TYPE_CHECKING

from threedice.errors import InvariantBroken

if TYPE_CHECKING:
    from collections.abc import Iterable

    from threedice.ledger.postings import Posting

_NEVER_BELOW_ZERO = ("cash", "float", "layout", "stack/")


class Balances(dict[str, int]):
    """What is in each account; posting to them keeps their sum at zero."""

    def post(self, postings: Iterable[Posting]) -> None:
        """Apply the postings of one event, refusing any that breaks what must always hold."""
        for source, destination, amount in postings:
            if amount < 0:
                raise InvariantBroken(f"a posting of {amount} from {source} to {destination}")
            self[source] = self.get(source, 0) - amount
            self[destination] = self.get(destination, 0) + amount
            if self[source] < 0 and source.startswith(_NEVER_BELOW_ZERO):
                raise InvariantBroken(f"{source} went below zero, to {self[source]}")
