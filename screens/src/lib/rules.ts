// Group the boxes of a rules page by family and odds, with their house edge.

import type { BoxView, GameView, TableLimits } from "../api/schema.d.ts";

const ROLLS = 216;

/** Boxes of a family with the same odds on equally many rolls, and with the same limits if limits are given. */
export interface Alike {
  family: string;
  boxes: BoxView[];
  odds: string[];
  ways: number;
  throws: number;
  /** The house edge in percent. */
  edge: number;
}

export function boxesAlike(game: Pick<GameView, "boxes">, limits: TableLimits | null = null): Alike[] {
  const found = new Map<string, Alike>();
  for (const box of game.boxes) {
    const range = limits && limitsOf(limits, box);
    const pays = box.lines.map((line) => `${line.odds} ${line.ways}`);
    const key = [box.family, box.throws, range?.minimum, range?.maximum, ...pays].join("|");
    const there = found.get(key);
    if (there) there.boxes.push(box);
    else found.set(key, alike(box));
  }
  const families = [...new Set(game.boxes.map((box) => box.family))];
  return [...found.values()].sort((a, b) => families.indexOf(a.family) - families.indexOf(b.family));
}

function alike(box: BoxView): Alike {
  return {
    family: box.family,
    boxes: [box],
    odds: box.lines.map((line) => line.odds),
    ways: box.lines.reduce((sum, line) => sum + line.ways, 0),
    throws: box.throws,
    edge: edgePercent(box),
  };
}

/**
 * Return the house edge in percent. A bet over several throws wins if each of them wins. Floats suffice for
 * display.
 */
export function edgePercent(box: Pick<BoxView, "lines" | "throws">): number {
  let returned = 0;
  for (const line of box.lines) {
    const [a = 0, b = 1] = line.odds.split(" to ").map(Number);
    returned += (line.ways / ROLLS) ** box.throws * (a / b + 1);
  }
  const percent = (1 - returned) * 100;
  return Math.abs(percent) < 1e-9 ? 0 : percent;
}

/** Return the limits of a box: its own, or those of its family. */
export function limitsOf(
  limits: TableLimits,
  box: Pick<BoxView, "id" | "family">,
): { minimum: number; maximum: number } | null {
  return limits.boxes?.[box.id] ?? limits.families[box.family] ?? null;
}
