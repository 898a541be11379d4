// What a report of an irregularity needs, and what it says will follow.

import type { GameView, Irregularity, TableView } from "../../api/schema.d.ts";
import { t } from "./irregular_texts.ts";
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

/** Who has to agree, where a second person has to: nobody else reverses what was called or paid. */
export function seconds(rule: Irregularity, view: TableView): Roles {
  if (rule.consequence === "void-affected-rounds") return SUPERVISORS;
  if (rule.consequence === "void-round" && view.round?.called) return SUPERVISORS;
  return [];
}

/** The consequence in sentences, as the rulebook has it. */
export function consequences(game: GameView, rule: Irregularity): string[] {
  const said = [t(rule.consequence)];
  if (rule.covered_dice_stand) said.push(t("covered-dice-stand"));
  const voids = ["void-round", "void-affected-rounds", "continue-if-conclusive"].includes(rule.consequence);
  const bets = rule.bets ?? (voids ? game.conduct.procedure.void.bets : null);
  if (bets) said.push(t(`bets-${bets}`));
  if (rule.locks_table && rule.consequence !== "lock-table") said.push(t("locks-table"));
  return said;
}

/** Whether a player may be named: where it is about his bet, or about him. */
export const concernsPlayer = (name: string): boolean =>
  name.includes("bet") || name === "walked-away" || name === "interference" || name === "not-provided-for";
