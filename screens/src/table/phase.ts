// Determine the phase of a table, in the terms of the server's list of tables.

import type { TableLine, TableView } from "../api/schema.d.ts";

export type Phase = TableLine["phase"];

export function phaseOf(view: Pick<TableView, "open" | "interrupted" | "locked" | "round">): Phase {
  if (!view.open) return "closed";
  if (view.interrupted) return "interrupted";
  const round = view.round;
  if (!round) return view.locked.length ? "locked" : "waiting";
  if (round.done.includes("collect-losers") || round.result) return "settling";
  if (round.done.includes("close-betting")) return "closing";
  return round.done.includes("open-betting") ? "betting" : "waiting";
}

/** Return the whole seconds until a time of the server's clock, at least 0. */
export const secondsUntil = (moment: number, now: number): number => Math.max(0, Math.ceil((moment - now) / 1_000_000));

const UNATTENDED_AFTER = 10 * 60 * 1_000_000;

/**
 * Whether nobody seems to deal at a table that people deal: it is between rounds, and none was dealt for a while.
 * `last` is the time of its last round, 0 if there was none.
 */
export const isUnattended = (dealtByHouse: boolean, phase: Phase, last: number, now: number): boolean =>
  !dealtByHouse && phase === "waiting" && now - last > UNATTENDED_AFTER;
