// Name boxes by area or spot, compute their house edge, and describe causes.

import type { BoxView, GameView } from "../../api/schema.d.ts";
import { boxName } from "../../felt/names.ts";
import { boxesById, boxOf } from "../../lib/game.ts";
import { causeName } from "../../texts/irregularities.ts";
import { language } from "../../texts/language.svelte.ts";

/** Return the name of the box of an area or spot. */
export function nameAt(game: GameView | null, area: string): string {
  const box = game && boxesById(game).get(boxOf(area));
  return box ? boxName(box) : area;
}

/** Compute the house edge of a box in hundredths of a percent; for bets on one throw only. */
export function edgeOf(box: BoxView): number | null {
  if (box.throws !== 1) return null;
  const returned = box.lines.reduce((sum, { odds, ways }) => {
    const [a, b] = odds.split(" to ").map(Number) as [number, number];
    return sum + (ways * (a + b)) / b;
  }, 0);
  return Math.round((1 - returned / 216) * 10_000);
}

/** Return the rulebook's words for an irregularity, its name in a translation, or the cause itself. */
export function causeIn(game: GameView | null, cause: string): { words: string; clause: string } {
  const known = Object.entries(game?.conduct.irregularities ?? {}).find(([name]) => name === cause)?.[1];
  const clause = known?.clause ?? [];
  const words = (language.now === "en" && known?.what) || causeName(cause);
  return { words, clause: Array.isArray(clause) ? clause.join(", ") : clause };
}
