// What the felt knows without drawing anything: piles broken into chips and laid out in an area,
// the way from area to area by the arrow keys, and how far one has to go in to touch everything.

import type { Area, Felt } from "../api/schema.d.ts";
import { boxOf } from "../lib/game.ts";

export { broken, inscribed, lettering, wide } from "./lettering.ts";

export type PileState = "placed" | "pending" | "others" | "won" | "lost" | "returned";

/** Chips that lie on an area; `count` says from how many people those of others are. */
export interface Pile {
  area: string;
  amount: number;
  state: PileState;
  colour?: string;
  count?: number;
}

/** Chips where no table says which there are, in minor units. */
export const USUAL_CHIPS: readonly number[] = [100, 500, 2500, 10_000, 50_000, 100_000, 500_000];

export const MOST_DRAWN = 6;

/** The fewest chips that make up an amount, largest first; what no chip fits is a last, odd one. */
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

/** The chips of a pile to draw, lowest first: the largest ones stand for a tall pile. */
export function drawnChips(amount: number, chips: readonly number[]): number[] {
  return inChips(amount, chips).slice(0, MOST_DRAWN);
}

export interface PileAt {
  pile: Pile;
  x: number;
  y: number;
  r: number;
}

/** Where the piles of an area stand: in its lower right corner, one's own first, none outside. */
export function pilesIn(area: Area, piles: readonly Pile[]): PileAt[] {
  const order: PileState[] = ["won", "placed", "pending", "returned", "lost", "others"];
  const sorted = [...piles].sort((a, b) => order.indexOf(a.state) - order.indexOf(b.state));
  const r = Math.min(32, area.height * 0.25, area.width * 0.24);
  const right = area.x + area.width - r * 1.5;
  const step = Math.min(2.6 * r, (area.width - 2.6 * r) / Math.max(sorted.length - 1, 1));
  return sorted.map((pile, i) => ({ pile, x: right - i * step, y: area.y + area.height - r * 1.75, r }));
}

// --- from area to area --------------------------------------------------------------------------

export type Direction = "left" | "right" | "up" | "down";

export const KEYS: Record<string, Direction> = {
  ArrowLeft: "left",
  ArrowRight: "right",
  ArrowUp: "up",
  ArrowDown: "down",
};

/** The area one comes to from another: the nearest that way, rather beside it than askew. */
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

// --- how near -----------------------------------------------------------------------------------

const MAIN = new Set(["big", "small", "odd", "even", "single", "any-triple", "red", "black", "shooter"]);
const LEAST_PX = 26;
const LEAST_MAIN_PX = 46;

/** Whether a box is one that most people bet on, and that has to be easy to hit. */
export const isMain = (area: Area): boolean => MAIN.has(boxOf(area.box).split(":", 1)[0]!);

/** The scale, in pixels to a unit, from which on every area can be touched and read. */
export function touchable(felt: Felt): number {
  const wanted = felt.areas.map(
    (area) => (isMain(area) ? LEAST_MAIN_PX : LEAST_PX) / Math.min(area.width, area.height),
  );
  const least = Math.min(...felt.areas.map((area) => Math.min(area.width, area.height)));
  return Math.max(Math.min(0.5, 75 / least), ...wanted);
}
