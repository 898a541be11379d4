// Determine who may report an irregularity, who must approve it, and whether it names a player.

import type { GameView, Irregularity, TableView } from "../../api/schema.d.ts";
import { STAFF, SUPERVISORS, withStandIns } from "./procedure.ts";
import type { Roles } from "./procedure.ts";

/** Return the roles that may report: those in the rulebook, or all staff if it names none. */
export function reporters(game: GameView, rule: Irregularity): Roles {
  return withStandIns(game, rule.by?.length ? rule.by : STAFF);
}

export function mayReport(game: GameView, rule: Irregularity, mine: Roles): boolean {
  const allowed = reporters(game, rule);
  return mine.some((role) => STAFF.includes(role) && allowed.includes(role));
}

/**
 * Return the roles that must approve, if a second person must: a called, confirmed or paid result needs a
 * supervisor to reverse it.
 */
export function seconds(rule: Irregularity, view: TableView): Roles {
  if (rule.consequence === "void-affected-rounds") return SUPERVISORS;
  const settled = view.round?.called || view.round?.known.length === 3;
  if (rule.consequence === "void-round" && settled) return SUPERVISORS;
  return [];
}

/** Whether a report may name a player: if it concerns a bet or the player. */
export const concernsPlayer = (name: string): boolean =>
  name.includes("bet") || name === "walked-away" || name === "interference" || name === "not-provided-for";
