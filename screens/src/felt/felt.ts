// Compute the geometry of the felt: break amounts into chips, place piles in an area, find neighbours for the
// arrow keys, and compute the scale at which every area can be tapped.

import type { Area, Felt } from "../api/schema.d.ts";
import { boxOf } from "../lib/game.ts";

export { broken, inscribed, lettering, wide } from "./lettering.ts";

export type PileState = "placed" | "pending" | "others" | "won" | "lost" | "returned";

/** Chips on an area; `count` is the number of players behind a pile of the others' chips. */
export interface Pile {
  area: string;
  amount: number;
  state: PileState;
  colour?: string;
  count?: number;
}

/** Chips in minor units, for pages without a table. */
export const USUAL_CHIPS: readonly number[] = [100, 500, 2500, 10_000, 50_000, 100_000, 500_000];

export const MOST_DRAWN = 6;

/** Return the fewest chips that make up an amount, largest first; a remainder becomes one last, odd chip. */
export function inChips(amount: number, chips: readonly number[]): number[] {
  const found: number[] = [];
  let left = amount;
  for (const chip of [...chips].filter((each) => each > 0).sort((a, b) => b - a)) {
    const many = Math.floor(left / chip);
    for (let i = 0; i < many && found.length < 200; i++) found.push(chip);
    left -= many * chip;
  }
  if (left > 0) found.push(left);
  return found;
}

/** Return the chips of a pile to draw, lowest first; the largest ones represent a tall pile. */
export function drawnChips(amount: number, chips: readonly number[]): number[] {
  return inChips(amount, chips).slice(0, MOST_DRAWN);
}

export interface PileAt {
  pile: Pile;
  x: number;
  y: number;
  r: number;
}

/** Place the piles of an area in its lower right corner, the player's own first, all inside the area. */
export function pilesIn(area: Area, piles: readonly Pile[]): PileAt[] {
  const order: PileState[] = ["won", "placed", "pending", "returned", "lost", "others"];
  const sorted = [...piles].sort((a, b) => order.indexOf(a.state) - order.indexOf(b.state));
  const r = Math.min(32, area.height * 0.25, area.width * 0.24);
  const right = area.x + area.width - r * 1.5;
  const step = Math.min(2.6 * r, (area.width - 2.6 * r) / Math.max(sorted.length - 1, 1));
  return sorted.map((pile, i) => ({ pile, x: right - i * step, y: area.y + area.height - r * 1.75, r }));
}

// --- keyboard navigation ------------------------------------------------------------------------

export type Direction = "left" | "right" | "up" | "down";

export const KEYS: Record<string, Direction> = {
  ArrowLeft: "left",
  ArrowRight: "right",
  ArrowUp: "up",
  ArrowDown: "down",
};

/** Find the nearest area in a direction; areas in the same row or column come before diagonal ones. */
export function neighbour(areas: readonly Area[], from: Area, way: Direction): Area | undefined {
  let best: Area | undefined;
  let least = Infinity;
  for (const each of areas) {
    if (each === from) continue;
    const far = distance(from, each, way);
    if (far < least) [best, least] = [each, far];
  }
  return best;
}

function distance(from: Area, to: Area, way: Direction): number {
  const across = way === "left" || way === "right";
  const [f, t] = across ? [alongX(from), alongX(to)] : [alongY(from), alongY(to)];
  const ahead = way === "right" || way === "down" ? t.start - f.end : f.start - t.end;
  if (ahead < 0) return Infinity;
  const [g, s] = across ? [alongY(from), alongY(to)] : [alongX(from), alongX(to)];
  const aside = Math.max(s.start - g.end, g.start - s.end, 0);
  const askew = aside > 0 || Math.min(g.end, s.end) - Math.max(g.start, s.start) <= 0 ? 1000 + aside * 3 : 0;
  return ahead * 4 + askew + Math.abs((s.start + s.end) / 2 - (g.start + g.end) / 2) / 100;
}

const alongX = (area: Area) => ({ start: area.x, end: area.x + area.width });
const alongY = (area: Area) => ({ start: area.y, end: area.y + area.height });

// --- scale --------------------------------------------------------------------------------------

const MAIN = new Set(["big", "small", "odd", "even", "single", "any-triple", "red", "black", "shooter"]);
const LEAST_PX = 26;
const LEAST_MAIN_PX = 46;

/** Whether a box is among the most popular, which need a larger tap target. */
export const isMain = (area: Area): boolean => MAIN.has(boxOf(area.box).split(":", 1)[0]!);

/** Return the smallest scale, in pixels per unit, at which every area can be tapped and read. */
export function touchable(felt: Felt): number {
  const wanted = felt.areas.map(
    (area) => (isMain(area) ? LEAST_MAIN_PX : LEAST_PX) / Math.min(area.width, area.height),
  );
  const least = Math.min(...felt.areas.map((area) => Math.min(area.width, area.height)));
  return Math.max(Math.min(0.5, 75 / least), ...wanted);
}
