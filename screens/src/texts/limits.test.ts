import { expect, test } from "vitest";
import type { GameView, TableLimits } from "../api/schema.d.ts";
import { displayedLimits } from "./limits.ts";

const IDS = ["small", "big", "total:4", "total:5", "total:6", "triple:1", "triple:2", "any-triple"];
const NAMES: Record<string, string> = { total: "Total", triple: "Specific triple" };
const BOXES = IDS.map((id) => {
  const family = id.split(":")[0]!;
  return { id, family, name: NAMES[family] ?? id };
}) as GameView["boxes"];

function game(displayed: string[]): GameView {
  return { boxes: BOXES, conduct: { limits: { displayed, differential: { pairs: [["big", "small"]] } } } } as never;
}

const ALL = ["minimum", "maximum", "differential"];
const FAMILIES = ["small", "big", "total", "triple", "any-triple"];
const SAME: TableLimits = {
  families: Object.fromEntries(FAMILIES.map((family) => [family, { minimum: 500, maximum: 100_000 }])),
  boxes: {},
  differential: { big: 500_000 },
};

test("equal limits are one line, followed by the differential", () => {
  expect(displayedLimits(game(ALL), SAME, "SGD")).toEqual([
    "Limits 5 – 1,000 SGD",
    "Differential Big – Small at most 5,000",
  ]);
});

test("a family or a box with other limits is named with them", () => {
  const limits = {
    ...SAME,
    families: { ...SAME.families, triple: { minimum: 500, maximum: 5000 } },
    boxes: { "any-triple": { minimum: 500, maximum: 5000 }, "total:4": { minimum: 1000, maximum: 20_000 } },
  };
  expect(displayedLimits(game(["minimum", "maximum"]), limits, "SGD")).toEqual([
    "Limits 5 – 1,000 SGD",
    "Specific triple, any-triple: 5 – 50",
    "Total 4: 10 – 200",
  ]);
});

test("only what the rulebook has displayed is shown", () => {
  expect(displayedLimits(game([]), SAME, "SGD")).toEqual([]);
  expect(displayedLimits(game(["maximum"]), SAME, "SGD")).toEqual(["Limits 1,000 SGD"]);
  expect(displayedLimits(game(ALL), null, "SGD")).toEqual([]);
});
