// Describe the consequences of an irregularity before it is confirmed.

import type { GameView, Irregularity } from "../api/schema.d.ts";
import { t } from "./texts.ts";

const VOIDING: readonly string[] = ["void-round", "void-affected-rounds", "throw-again", "continue-if-conclusive"];

/** Return what follows from an irregularity that was recorded: one that voids rounds was found while none was played. */
export const recordedConsequences = (game: GameView, rule: Irregularity): string[] =>
  VOIDING.includes(rule.consequence) ? [t("consequence.lock-table")] : consequences(game, rule);

/** Return the consequences in sentences, as the rulebook defines them. */
export function consequences(game: GameView, rule: Irregularity): string[] {
  const said = [t(`consequence.${rule.consequence}`)];
  if (rule.covered_dice_stand) said.push(t("consequence.covered-dice-stand"));
  const voids = ["void-round", "void-affected-rounds", "continue-if-conclusive"].includes(rule.consequence);
  const bets = rule.bets ?? (voids ? game.conduct.procedure.void.bets : null);
  const onlyIfVoid = rule.consequence === "continue-if-conclusive" && bets !== "locked";
  if (bets) said.push(t(onlyIfVoid ? `consequence.bets-if-void.${bets}` : `consequence.bets.${bets}`));
  if (rule.consequence === "void-round" || rule.consequence === "throw-again")
    said.push(t(`consequence.found-until.${rule.found_until ?? "last-payment"}`));
  if (rule.locks_table && rule.consequence !== "lock-table") said.push(t("consequence.locks-table"));
  else if (rule.consequence === "settle-by-dice") said.push(t("consequence.nothing-else"));
  return said;
}
