// Compute roads: charts of how results followed one another. The boxes of a game determine its roads: boxes that
// exclude each other, or the number of different faces in games without such boxes. Pure.

import type { BoxView, GameView } from "../api/schema.d.ts";
import { isTriple, ROLLS, rollIndex } from "../lib/dice.ts";
import type { Roll } from "../lib/dice.ts";

/** One of the outcomes that a road distinguishes; `rolls` as in LineView. */
export interface Side {
  key: string;
  rolls: string;
}

export interface Road {
  key: string;
  sides: readonly Side[];
  /** Whether the sides are boxes of this table. */
  offered: boolean;
}

export const TRIPLE = "triple";
export const NEITHER = "neither";
export const ROWS = 6;
const MOST_ROADS = 2;

/** Return the roads that suit a game, the most informative first. */
export function roadsOf(game: Pick<GameView, "boxes" | "faces">): Road[] {
  const roads = opposed(game.boxes).slice(0, MOST_ROADS);
  return roads.length ? roads : variety(game);
}

/**
 * Return the road whose outcome is the headline of a result: the first between boxes without a selection, such as
 * big and small, or red and black.
 */
export function headlineRoad(game: Pick<GameView, "boxes">, roads: readonly Road[]): Road | null {
  const isPlain = (key: string) => game.boxes.some((box) => box.id === key && !box.selection.length);
  return roads.find((road) => road.sides.every((each) => isPlain(each.key))) ?? null;
}

/** Find boxes that exclude each other and are equally likely, such as big and small, or red and black. */
function opposed(boxes: readonly BoxView[]): Road[] {
  const inFamily = (family: string) => boxes.filter((box) => box.family === family).length;
  const candidates = boxes.filter((box) => box.throws === 1 && (!box.selection.length || inFamily(box.family) === 2));
  const pairs = candidates.flatMap((a, i) =>
    candidates.slice(i + 1).flatMap((b) => (isOpposed(a, b) ? [[a, b] as const] : [])),
  );
  pairs.sort((one, other) => ways(other[0]) - ways(one[0]));
  const used = new Set<string>();
  const roads: Road[] = [];
  for (const [a, b] of pairs) {
    if (used.has(a.id) || used.has(b.id)) continue;
    used.add(a.id).add(b.id);
    roads.push({ key: `${a.id} ${b.id}`, sides: [side(a), side(b)], offered: true });
  }
  return roads;
}

function isOpposed(a: BoxView, b: BoxView): boolean {
  if (ways(a) !== ways(b)) return false;
  const [one, other] = [mask(a), mask(b)];
  return !ROLLS.some((_, at) => one[at] === "1" && other[at] === "1");
}

/** Return the road of how many boxes for one face win: three different faces, a pair, or a triple. */
function variety(game: Pick<GameView, "boxes" | "faces">): Road[] {
  const singles = game.boxes.filter((box) => isOfOneFace(box, game.faces)).map(mask);
  if (singles.length !== game.faces.length) return [];
  const counts = ROLLS.map((_, at) => singles.filter((won) => won[at] === "1").length);
  const sides = [3, 2].map((count) => ({
    key: `different-${count}`,
    rolls: counts.map((each) => (each === count ? "1" : "0")).join(""),
  }));
  return [{ key: "different", sides, offered: false }];
}

/** Whether a box wins whenever any die shows its face. */
export function isOfOneFace(box: BoxView, faces: readonly string[]): boolean {
  if (box.throws !== 1 || box.selection.length !== 1) return false;
  const [face, won] = [faces.indexOf(box.selection[0]!) + 1, mask(box)];
  return face > 0 && ROLLS.every((roll, at) => (won[at] === "1") === roll.includes(face));
}

/** Classify a roll on a road: one of its sides, a triple that no side wins, or neither. */
export function outcomeOn(road: Road, roll: Roll): string {
  const at = rollIndex(roll);
  const won = road.sides.find((each) => each.rolls[at] === "1");
  return won?.key ?? (isTriple(roll) ? TRIPLE : NEITHER);
}

/** Arrange results as a bead plate: one bead per result, in columns of six rows; only the last columns are kept. */
export function beadPlate<T>(of: readonly T[], columns: number): T[][] {
  const first = Math.max(0, Math.ceil(of.length / ROWS) - columns) * ROWS;
  const plate: T[][] = [];
  for (let at = first; at < of.length; at += ROWS) plate.push(of.slice(at, at + ROWS));
  return plate;
}

export interface Cell {
  column: number;
  row: number;
  outcome: string;
  /** The number of results between this one and the next that were on neither side. */
  passed: number;
}

/**
 * Arrange outcomes as a big road: a new column whenever the outcome changes, at most six rows. A longer run turns
 * right at the bottom, or above an occupied cell. Results on neither side are counted on the preceding cell.
 */
export function bigRoad(outcomes: readonly string[]): Cell[] {
  const cells: Cell[] = [];
  const taken = new Set<string>();
  let start = -1;
  let turned = false;
  for (const outcome of outcomes) {
    const last = cells.at(-1);
    if (outcome === NEITHER) {
      if (last) last.passed += 1;
      continue;
    }
    let column: number;
    let row = 0;
    if (last && last.outcome === outcome) {
      turned ||= last.row === ROWS - 1 || taken.has(`${last.column} ${last.row + 1}`);
      [column, row] = turned ? [last.column + 1, last.row] : [last.column, last.row + 1];
    } else {
      turned = false;
      do start += 1;
      while (taken.has(`${start} 0`));
      column = start;
    }
    taken.add(`${column} ${row}`);
    cells.push({ column, row, outcome, passed: 0 });
  }
  return cells;
}

/** Return the last columns of a big road, shifted to the left. */
export function lastColumns(cells: readonly Cell[], columns: number): Cell[] {
  const first = Math.max(0, Math.max(0, ...cells.map((cell) => cell.column + 1)) - columns);
  return cells.flatMap((cell) => (cell.column >= first ? [{ ...cell, column: cell.column - first }] : []));
}

const ways = (box: BoxView): number => box.lines.reduce((sum, line) => sum + line.ways, 0);

const side = (box: BoxView): Side => ({ key: box.id, rolls: mask(box) });

function mask(box: BoxView): string {
  return ROLLS.map((_, at) => (box.lines.some((line) => line.rolls[at] === "1") ? "1" : "0")).join("");
}
