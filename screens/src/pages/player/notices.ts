// Notices that stay until somebody has read them, also over a reload: rounds that were voided or
// undone, what became of an interruption, corrections. Kept by the browser for player and table.

import type { StatementLine } from "../../api/schema.d.ts";

export interface Notice {
  readonly id: string;
  readonly what:
    | "void"
    | "reversed"
    | "goes-on"
    | "corrected"
    | "ruling"
    | "rejected"
    | "apportioned"
    | "line"
    | "moved"
    | "put-back";
  readonly round: number;
  readonly amount: number;
  /** A cause, a reason, or the spots it is about. */
  readonly note: string;
}

export interface Kept {
  readonly open: readonly Notice[];
  readonly read: readonly string[];
}

export const NONE: Kept = { open: [], read: [] };
const MOST = 200;
/** Older lines of a statement are history, and no news. */
export const NEWS_MICROSECONDS = 24 * 3600 * 1_000_000;

export function told(kept: Kept, notice: Notice): Kept {
  if (kept.read.includes(notice.id) || kept.open.some((each) => each.id === notice.id)) return kept;
  return { ...kept, open: [...kept.open, notice].slice(-MOST) };
}

export const dismissed = (kept: Kept, id: string): Kept => ({
  open: kept.open.filter((each) => each.id !== id),
  read: [...kept.read, id].slice(-MOST),
});

/** The notices in a statement: lines of this table that a player should have been told about. */
export function inStatement(lines: readonly StatementLine[], table: string, now: number): Notice[] {
  return lines.filter((line) => line.table === table && now - line.at < NEWS_MICROSECONDS).flatMap(noticeOf);
}

function noticeOf({ what, round, amount, note }: StatementLine): Notice[] {
  switch (what) {
    case "void":
      return [notice("void", round, 0, note)];
    case "reversed":
      return [notice("reversed", round, amount, note)];
    case "corrected":
      return [notice("corrected", round, amount, note)];
    case "ruling":
      return [notice("ruling", round, amount, note)];
    case "notice":
      return note === "void" ? [] : [notice("goes-on", round, 0, "")];
    default:
      return [];
  }
}

/** What is told twice, live and by the statement, has one id. */
export const notice = (what: Notice["what"], round: number, amount: number, note: string): Notice => ({
  id: what === "corrected" || what === "ruling" ? `${what} ${round} ${amount} ${note}` : `${what} ${round}`,
  what,
  round,
  amount,
  note,
});

export function read(text: string | null): Kept {
  try {
    const kept = JSON.parse(text ?? "null") as Kept | null;
    return kept && Array.isArray(kept.open) && Array.isArray(kept.read) ? kept : NONE;
  } catch {
    return NONE;
  }
}
