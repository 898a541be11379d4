import { expect, test } from "vitest";
import { compared, counted } from "./compare.ts";
import type { GameSheet } from "./compare.ts";

/** A game with boxes as [id, odds, hit, edge]. */
function gameOf(...boxes: [string, string, string, string][]): GameSheet {
  return {
    game: { boxes: boxes.map(([id, odds]) => ({ id, lines: [{ odds }] })) },
    sheet: { boxes: boxes.map(([box, , hit, edge]) => ({ box, figures: { hit, edge } })) },
  } as unknown as GameSheet;
}

test("boxes are judged by their exact house edge", () => {
  const here = gameOf(["big", "1 to 1", "105/216", "1/36"], ["total:4", "62 to 1", "1/72", "1/8"], ["odd", "1 to 1", "1/2", "1/36"]); // prettier-ignore
  const there = gameOf(["big", "1 to 1", "105/216", "1/36"], ["total:4", "50 to 1", "1/72", "7/24"], ["four", "7 to 1", "1/9", "1/9"]); // prettier-ignore
  const rows = compared(here, there);

  expect(rows.map((row) => [row.box, row.verdict, row.differs])).toEqual([
    ["big", "same", false],
    ["total:4", "worse", true],
    ["odd", "only-here", true],
    ["four", "only-there", true],
  ]);
  expect([rows[1]?.here?.pays, rows[1]?.there?.pays]).toEqual(["62 to 1", "50 to 1"]);
  expect(rows[1]?.points).toBeCloseTo(100 / 6);
  expect(counted(rows)).toEqual({ same: 1, better: 0, worse: 1, "only-here": 1, "only-there": 1 });
});

test("boxes of one edge differ if they pay or win differently", () => {
  const rows = compared(gameOf(["any", "31 to 1", "1/36", "1/9"]), gameOf(["any", "15 to 1", "1/18", "1/9"]));

  expect(rows.map((row) => [row.verdict, row.differs])).toEqual([["same", true]]);
});
