// What a report of an irregularity needs: whose word, whose agreement, whom it is about.

import type { GameView, Irregularity, TableView } from "../../api/schema.d.ts";
import { STAFF, SUPERVISORS, withStandIns } from "./procedure.ts";
import type { Roles } from "./procedure.ts";

/** Whose word a report takes: whom the rulebook names, or any of the staff where it is silent. */
export function reporters(game: GameView, rule: Irregularity): Roles {
  return withStandIns(game, rule.by?.length ? rule.by : STAFF);
}

export function mayReport(game: GameView, rule: Irregularity, mine: Roles): boolean {
  const allowed = reporters(game, rule);
  return mine.some((role) => STAFF.includes(role) && allowed.includes(role));
}

/** Who has to agree, where a second person has to: nobody else reverses what was called, confirmed or paid. */
export function seconds(rule: Irregularity, view: TableView): Roles {
  if (rule.consequence === "void-affected-rounds") return SUPERVISORS;
  const settled = view.round?.called || view.round?.known.length === 3;
  if (rule.consequence === "void-round" && settled) return SUPERVISORS;
  return [];
}

/** Whether a report may name a player: if it is about a bet, or about the player. */
export const concernsPlayer = (name: string): boolean =>
  name.includes("bet") || name === "walked-away" || name === "interference" || name === "not-provided-for";
