// Export a statement as CSV: every line of every account, with the balance after it.

import type { LedgersView } from "../../api/schema.d.ts";
import { csvText, decimal } from "../../lib/csv.ts";

const COLUMNS = ["account", "time", "movement", "note", "round", "currency", "amount", "debt", "balance"] as const;

/** Format the lines of a statement, the oldest of each account first. */
export function statementCsv({ currency, ledgers }: LedgersView, digits: number): string {
  const rows = ledgers.flatMap(({ table, lines }) =>
    lines.map((line) => [
      table || "house",
      new Date(line.at / 1000).toISOString(),
      line.what,
      line.note,
      line.round || "",
      currency,
      ...[line.amount, line.debt, line.balance].map((amount) => decimal(amount, digits)),
    ]),
  );
  return csvText(COLUMNS, rows);
}
