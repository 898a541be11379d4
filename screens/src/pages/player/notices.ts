// Keep notices until the player dismisses them, across reloads: void and reversed rounds, the outcome of an
// interruption, corrections. The browser stores them for each player and table.

import type { StatementLine } from "../../api/schema.d.ts";
import { isRecord, isText } from "../../lib/storage.ts";

const KINDS = [
  "void",
  "reversed",
  "goes-on",
  "again",
  "corrected",
  "ruling",
  "set-off",
  "rejected",
  "apportioned",
  "line",
  "moved",
  "put-back",
] as const;

export interface Notice {
  readonly id: string;
  readonly what: (typeof KINDS)[number];
  readonly round: number;
  readonly amount: number;
  /** The cause, the reason, or the spots concerned. */
  readonly note: string;
}

export interface Kept {
  readonly open: readonly Notice[];
  readonly read: readonly string[];
}

export const NONE: Kept = { open: [], read: [] };
const MOST = 200;
/** The age from which lines of a statement are history and not news. */
export const NEWS_MICROSECONDS = 24 * 3600 * 1_000_000;

export function told(kept: Kept, notice: Notice): Kept {
  if (kept.read.includes(notice.id) || kept.open.some((each) => each.id === notice.id)) return kept;
  return { ...kept, open: [...kept.open, notice].slice(-MOST) };
}

export const dismissed = (kept: Kept, id: string): Kept => ({
  open: kept.open.filter((each) => each.id !== id),
  read: [...kept.read, id].slice(-MOST),
});

/** Return the notices in a statement: lines of this table that concern the player. */
export function inStatement(lines: readonly StatementLine[], table: string, now: number): Notice[] {
  return lines.filter((line) => line.table === table && now - line.at < NEWS_MICROSECONDS).flatMap(noticeOf);
}

function noticeOf({ at, what, round, amount, note, debt }: StatementLine): Notice[] {
  switch (what) {
    case "void":
      return [notice("void", round, 0, note, at)];
    case "reversed":
      return amount || debt ? [notice("reversed", round, amount, note, at)] : []; // the first of several has the amount
    case "corrected":
      return [notice("corrected", round, amount, note, at)];
    case "ruling":
      return [notice("ruling", round, amount, note, at)];
    case "set off":
      return [notice("set-off", round, -debt, note, at)];
    case "notice":
      return note === "void" ? [] : [notice("goes-on", round, 0, "", at)];
    default:
      return [];
  }
}

/**
 * Create a notice. Its id is the same from a live event and from the statement, so that it appears once; of what may
 * come several times in a round it has the time.
 */
export const notice = (what: Notice["what"], round: number, amount: number, note: string, at: number): Notice => ({
  id: what === "corrected" || what === "ruling" || what === "set-off" ? `${what} ${round} ${at}` : `${what} ${round}`,
  what,
  round,
  amount,
  note,
});

/** Whether a stored value is a valid state of notices. */
export function isKept(value: unknown): value is Kept {
  if (!isRecord(value)) return false;
  const { open, read } = value;
  return Array.isArray(open) && open.every(isNotice) && Array.isArray(read) && read.every(isText);
}

function isNotice(value: unknown): value is Notice {
  if (!isRecord(value)) return false;
  const { id, what, round, amount, note } = value;
  const isNumber = (each: unknown) => Number.isSafeInteger(each);
  return isText(id) && KINDS.some((each) => each === what) && isNumber(round) && isNumber(amount) && isText(note);
}
