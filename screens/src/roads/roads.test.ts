import { describe, expect, test } from "vitest";
import { beadPlate, bigRoad, lastColumns, NEITHER, ROWS } from "./roads.ts";
import type { Cell } from "./roads.ts";

const places = (cells: readonly Cell[]) => cells.map(({ column, row }) => [column, row]);

describe("the big road", () => {
  test("turns right at the bottom, and the next run stays above the turn", () => {
    const cells = places(bigRoad([...repeated("big", 9), ...repeated("small", 6)]));
    expect(cells.slice(0, 9)).toEqual([[0, 0], [0, 1], [0, 2], [0, 3], [0, 4], [0, 5], [1, 5], [2, 5], [3, 5]]); // prettier-ignore
    expect(cells.slice(9)).toEqual([[1, 0], [1, 1], [1, 2], [1, 3], [1, 4], [2, 4]]); // prettier-ignore
  });

  test.each([3, 8, 20])("is the one that is drawn run by run, with runs of up to %i", (longest) => {
    for (let seed = 1; seed <= 20; seed++) {
      const outcomes = randomRuns(seed, longest);
      expect(bigRoad(outcomes)).toEqual(drawn(outcomes));
    }
  });

  test("shows its last columns", () => {
    for (let seed = 1; seed <= 8; seed++) {
      const whole = drawn(randomRuns(seed, 8));
      const first = Math.max(0, Math.max(...whole.map((cell) => cell.column)) + 1 - 22);
      const end = whole.filter((cell) => cell.column >= first);
      expect(lastColumns(whole, 22)).toEqual(end.map((cell) => ({ ...cell, column: cell.column - first })));
    }
  });
});

test.each([0, 1, 6, 7, 59, 60, 61, 200])("the bead plate has the newest of %i results in columns of six", (count) => {
  const results = Array.from({ length: count }, (_, i) => i);
  const columns = Array.from({ length: Math.ceil(count / ROWS) }, (_, i) => results.slice(i * ROWS, (i + 1) * ROWS));
  expect(beadPlate(results, 10)).toEqual(columns.slice(-10));
});

const repeated = <T>(value: T, times: number): T[] => Array.from({ length: times }, () => value);

/** Generate runs of random outcomes. Long runs turn and meet, short ones do not. */
function randomRuns(seed: number, longest: number): string[] {
  const random = generator(seed);
  return Array.from({ length: 40 }, () => ["small", "big", "triple", NEITHER][random(4)]!).flatMap((outcome) =>
    repeated(outcome, 1 + random(longest)),
  );
}

/** Return a linear congruential generator, which repeats its numbers for the same seed. */
function generator(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return Math.floor((state / 2 ** 31) * below);
  };
}

/** Draw a big road on squared paper: each run down from the first free column, then to the right. */
function drawn(outcomes: readonly string[]): Cell[] {
  const runs: Cell[][] = [];
  for (const outcome of outcomes) {
    const last = runs.at(-1)?.at(-1);
    if (outcome === NEITHER) {
      if (last) last.passed += 1;
    } else {
      if (last?.outcome !== outcome) runs.push([]);
      runs.at(-1)!.push({ column: 0, row: 0, outcome, passed: 0 });
    }
  }
  const taken = new Set<string>();
  let start = 0;
  for (const run of runs) {
    while (taken.has(`${start} 0`)) start += 1;
    const depth = [1, 2, 3, 4, 5].find((row) => taken.has(`${start} ${row}`)) ?? ROWS;
    for (const [i, cell] of run.entries()) {
      cell.column = start + Math.max(0, i - depth + 1);
      cell.row = Math.min(i, depth - 1);
      taken.add(`${cell.column} ${cell.row}`);
    }
  }
  return runs.flat();
}
