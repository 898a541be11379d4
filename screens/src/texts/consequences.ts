// What follows from an irregularity, said before it is confirmed.

import type { GameView, Irregularity } from "../api/schema.d.ts";
import { t } from "./consequence_words.ts";

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
