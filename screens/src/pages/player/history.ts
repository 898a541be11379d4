// Reduce result and statement lines to the past rounds of a table and a player's net of each. Pure.

import type { ResultLine, StatementLine } from "../../api/schema.d.ts";

/** Return each round once, the newest first: its result unless it was voided or reversed. */
export function pastRounds(lines: readonly ResultLine[]): ResultLine[] {
  const rounds = new Map<number, ResultLine>();
  for (const line of lines) {
    if (line.what === "seed lost") continue;
    const before = rounds.get(line.round);
    const what = before?.what === "void" ? "void" : line.what; // a void round's collected bets are reversed too
    rounds.set(line.round, { ...line, what, dice: line.dice ?? before?.dice ?? null });
  }
  return [...rounds.values()].reverse();
}

const COUNTED = new Set(["won", "lost", "void", "reversed", "put back", "corrected"]);

/** Return a player's net of each round with bets of theirs; a void or reversed round has a net of 0. */
export function netsOf(
  lines: readonly StatementLine[],
  table: string,
  rounds: readonly ResultLine[],
): Map<number, number> {
  const nets = new Map<number, number>();
  for (const { table: where, round, what, amount } of lines)
    if (where === table && COUNTED.has(what)) nets.set(round, (nets.get(round) ?? 0) + amount);
  for (const { round, what } of rounds) if (what !== "result" && nets.has(round)) nets.set(round, 0);
  return nets;
}
