// Compute the geometry of the felt: break amounts into chips, place piles in an area, find neighbours for the
// arrow keys, and compute the scale at which every area can be tapped.

import type { Area, Felt } from "../api/schema.d.ts";
import { boxOf } from "../lib/game.ts";

import { lettering } from "./lettering.ts";
import type { Lettering } from "./lettering.ts";

export { broken, inscribed, wide } from "./lettering.ts";

export type PileState = "placed" | "pending" | "others" | "won" | "lost" | "returned";

/**
 * Chips on an area; `count` is the number of players behind a pile of the others' chips, `seat` the seat of the one
 * player behind it. The `current` pile is marked, and drawn over the others.
 */
export interface Pile {
  area: string;
  amount: number;
  state: PileState;
  colour?: string;
  count?: number;
  seat?: number;
  current?: boolean;
}

/** Chips in minor units, for pages without a table. */
export const USUAL_CHIPS: readonly number[] = [100, 500, 2500, 10_000, 50_000, 100_000, 500_000];

/** How many chips of a pile are drawn; its plate tells the amount. */
export const MOST_DRAWN = 3;

/** More piles than this stand in rows. */
const MOST_IN_ROW = 5;

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
export function drawnChips(amount: number, chips: readonly number[], most = MOST_DRAWN): number[] {
  return inChips(amount, chips).slice(0, most);
}

/** What is drawn of a pile. */
const SHOWN = ["amount", "state", "colour", "count", "seat", "current"] as const;

/** Whether two lists of piles are drawn alike. */
export const areSame = (before: readonly Pile[], after: readonly Pile[]): boolean =>
  before.length === after.length &&
  before.every((pile, i) => {
    const other = after[i]!;
    return SHOWN.every((key) => pile[key] === other[key]);
  });

export interface PileAt {
  pile: Pile;
  x: number;
  y: number;
  r: number;
  /** The width that the pile and its plate may take. */
  width: number;
}

export interface Rect {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** An area with chips: the part that is left for its label, and the piles next to it. */
export interface Shared {
  label: Rect;
  piles: PileAt[];
}

const ORDER: readonly PileState[] = ["won", "placed", "pending", "returned", "lost", "others"];
const LARGEST_R = 32;
const OTHERS_SCALE = 0.65;
const CELL = 2.4;
/** The part of an area that chips take at most, and how much smaller they may become to spare the label. */
const MOST_SHARE = 0.58;
const SMALLER = [1, 0.8, 0.65] as const;
/** The smallest letters of a plate. */
export const PLATE_SIZE = 13;

/**
 * Share an area between its label and its piles, so that no chip hides the name and the odds. The piles are below the
 * label or to its right, wherever label and chips stay larger; the player's own are at the right end.
 */
export function shared(area: Area, piles: readonly Pile[]): Shared {
  if (!piles.length) return { label: area, piles: [] };
  const sorted = [...piles].sort((a, b) => ORDER.indexOf(a.state) - ORDER.indexOf(b.state));
  if (sorted.length > MOST_IN_ROW) return { label: area, piles: inRows(area, sorted) };
  const scales = sorted.map((pile) => (pile.state === "others" ? OTHERS_SCALE : 1));
  const { r, label } = division(area, CELL * scales.reduce((sum, scale) => sum + scale, 0));
  let right = area.x + area.width - 2;
  const placed = sorted.map((pile, i) => {
    const own = r * scales[i]!;
    const width = CELL * own;
    right -= width;
    return { pile, x: right + width / 2, y: area.y + area.height - 2 - bottomOf(own), r: own, width };
  });
  return { label, piles: placed };
}

/**
 * Place many piles in rows in the lower right corner of an area, all inside it, so that each can be told apart. The
 * current one is drawn last, over the others.
 */
function inRows(area: Area, sorted: readonly Pile[]): PileAt[] {
  const r = Math.min(LARGEST_R, area.height * 0.25, area.width * 0.24);
  const right = area.x + area.width - r * 1.5;
  const rows = Math.min(Math.ceil(sorted.length / MOST_IN_ROW), Math.max(Math.floor((area.height / r - 2) / 1.4), 1));
  const inRow = Math.ceil(sorted.length / rows);
  const step = Math.min(2.6 * r, (area.width - 2.6 * r) / Math.max(inRow - 1, 1));
  const placed = sorted.map((pile, i) => ({
    pile,
    x: right - (i % inRow) * step,
    y: area.y + area.height - r * (1.75 + 1.4 * (rows - 1 - Math.floor(i / inRow))),
    r,
    width: step,
  }));
  return placed.sort((a, b) => Number(!!a.pile.current) - Number(!!b.pile.current));
}

interface Division {
  r: number;
  label: Rect;
}

const divisions = new WeakMap<Area, Map<number, Division>>();

/** Return the radius of the chips and the part of the label, computed once for each width of piles in radii. */
function division(area: Area, cells: number): Division {
  let known = divisions.get(area);
  if (!known) divisions.set(area, (known = new Map<number, Division>()));
  let found = known.get(cells);
  if (!found) known.set(cells, (found = bestDivision(area, cells)));
  return found;
}

function bestDivision(area: Area, cells: number): Division {
  const { x, y, width, height } = area;
  const below = Math.min(LARGEST_R, fitting(height * MOST_SHARE), (width - 4) / cells);
  const beside = Math.min(LARGEST_R, fitting(height), (width * MOST_SHARE) / cells);
  const largest = Math.max(below, beside);
  const free = smallestLetters(area);
  const found = SMALLER.flatMap((part) => [
    { r: below * part, label: { x, y, width, height: height - heightOf(below * part) - 2 } },
    { r: beside * part, label: { x, y, width: width - cells * beside * part - 2, height } },
  ]).map((each) => {
    const letters = smallestLetters({ ...area, ...each.label }) / free;
    return { ...each, worth: Math.min(letters, each.r / largest) };
  });
  return found.reduce((best, each) => (each.worth > best.worth ? each : best));
}

const labels = new WeakMap<Rect, Lettering>();

/** Lay out the label of an area in the part that is left for it, once for each part. */
export function labelIn(area: Area, part: Rect): Lettering {
  let found = labels.get(part);
  if (!found) labels.set(part, (found = lettering({ ...area, ...part })));
  return found;
}

const smallestLetters = (area: Area): number => {
  const { words, dice } = lettering(area);
  return Math.min(...words.map(({ size }) => size), ...dice.map(({ size }) => size / 2));
};

/** Return how far a pile with its plate reaches below the middle of its lowest chip. */
const bottomOf = (r: number): number => r * 0.95 + Math.max(r * 0.66, PLATE_SIZE) * 0.62;

/** Return the height of the tallest pile of a radius, with its plate and its mark. */
const heightOf = (r: number): number => r * 1.54 + bottomOf(r);

/** Return the largest radius of a pile in a height. */
const fitting = (height: number): number => Math.min((height - 4) / 2.9, (height - 4 - PLATE_SIZE * 0.62) / 2.49);

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
const TAP_PX = 24.02;
const TAP_MAIN_PX = 44.02;

/** Whether a box is among the most popular, which need a larger tap target. */
export const isMain = (area: Area): boolean => MAIN.has(boxOf(area.box).split(":", 1)[0]!);

/** Return the smallest scale, in pixels per unit, at which every area can be tapped and read. */
export function touchable(felt: Felt): number {
  const wanted = felt.areas.map((area) => (isMain(area) ? LEAST_MAIN_PX : LEAST_PX) / smallerSide(area));
  const least = Math.min(...felt.areas.map(smallerSide));
  return Math.max(Math.min(0.5, 75 / least), ...wanted);
}

/** Return the smallest scale at which every area can be tapped, for low screens, which show as much of the felt as possible. */
export const tappable = (felt: Felt): number =>
  Math.max(...felt.areas.map((area) => (isMain(area) ? TAP_MAIN_PX : TAP_PX) / smallerSide(area)));

const smallerSide = (area: Area): number => Math.min(area.width, area.height);
