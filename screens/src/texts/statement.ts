// Describe the lines of a statement in the user's language.

import type { StatementLine } from "../api/schema.d.ts";
import { boxName } from "./boxes.ts";
import { causeName } from "./irregularities.ts";
import { tableTitle } from "./tables.ts";

/** Movements whose note is shown as it is. */
const NOTED = new Set(["corrected", "ruling"]);

/**
 * Return what a line is about: the box of a bet, the cause of a void round, the reason of a correction, or the table
 * that money went to or came from.
 */
export function subjectOf({ what, note }: Pick<StatementLine, "what" | "note">): string {
  if (!note) return "";
  if (what === "won" || what === "lost") return boxName(note);
  if (what === "void" || what === "reversed" || what === "put back") return causeName(note);
  if (what === "sent to table" || what === "from table") return tableTitle(note);
  return NOTED.has(what) ? note : "";
}
