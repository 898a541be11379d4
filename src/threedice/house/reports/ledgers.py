"""A player's statement as ledgers: one for their money with the house, one for their chips at each
table, with the balance after every line.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from threedice.house.reports.statements import DatedStatementRow


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """A row of a statement, and the balance of its ledger after it."""

    dated: DatedStatementRow
    balance: int


@dataclass(slots=True)
class Ledger:
    """The rows of one account over a period, and its balances at the ends of the period and now.

    `table` is empty for the money with the house. The balance of a table is the player's chips
    there, bets included, less their debts.
    """

    table: str
    opening: int = 0
    money_in: int = 0
    money_out: int = 0
    balance: int = 0
    entries: list[LedgerEntry] = field(default_factory=list)

    @property
    def closing(self) -> int:
        """The balance at the end of the period."""
        return self.opening + self.money_in - self.money_out


def player_ledgers(
    rows: Iterable[DatedStatementRow], *, since: int | None = None, until: int | None = None
) -> list[Ledger]:
    """Divide all rows of a player into ledgers, the house first and then the tables by name.

    `since` (inclusive) and `until` (exclusive) bound the period. A ledger without rows in it is
    included if it had a balance then. The rows before the period are needed for the opening
    balances, those after it for the balances now.
    """
    ledgers: dict[str, Ledger] = {"": Ledger("")}
    for dated in rows:
        table = table_of(dated)
        ledger = ledgers.setdefault(table, Ledger(table))
        amount = dated.row.amount
        ledger.balance += amount
        if since is not None and dated.at < since:
            ledger.opening += amount
        elif until is None or dated.at < until:
            ledger.money_in += max(amount, 0)
            ledger.money_out += max(-amount, 0)
            ledger.entries.append(LedgerEntry(dated, ledger.balance))
    shown = (each for each in ledgers.values() if not each.table or each.entries or each.opening)
    return sorted(shown, key=lambda ledger: ledger.table)


def table_of(dated: DatedStatementRow) -> str:
    """Return the table of a row; empty for a row of the account with the house."""
    kind, _, table = dated.stream.partition("/")
    return table if kind == "table" else ""
