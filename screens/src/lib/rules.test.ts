import { expect, test } from "vitest";
import type { BoxView } from "../api/schema.d.ts";
import { boxesAlike, edgePercent, limitsOf } from "./rules.ts";

const box = (id: string, ways: number, odds = "1 to 1", throws = 1) =>
  ({ id, family: id.split(":")[0], throws, lines: [{ odds, ways }] }) as BoxView;

test("the edge is what the house keeps of a stake", () => {
  expect(edgePercent(box("big", 105))).toBeCloseTo(2.7778, 4);
  expect(edgePercent(box("even", 108))).toBe(0);
});

test("a bet over several throws wins when each of them does", () => {
  expect(edgePercent(box("shooter", 108, "3 to 1", 2))).toBe(0);
});

test("boxes of a family that pay alike share a line", () => {
  const [double, total9, total10] = [box("double:1", 16), box("total:9", 25, "6 to 1"), box("total:10", 27, "6 to 1")];
  const alike = boxesAlike({ boxes: [double, box("double:2", 16), total9, total10] });
  expect(alike.map((each) => each.boxes.map(({ id }) => id))).toEqual([
    ["double:1", "double:2"],
    ["total:9"],
    ["total:10"],
  ]);
});

test("a box with limits of its own does not share a line, and limits are those of the box or its family", () => {
  const limits = {
    families: { total: { minimum: 200, maximum: 1000 } },
    boxes: { "total:17": { minimum: 100, maximum: 500 } },
    differential: {},
  };
  const [total4, total17] = [box("total:4", 3, "62 to 1"), box("total:17", 3, "62 to 1")];
  expect(boxesAlike({ boxes: [total4, total17] })).toHaveLength(1);
  expect(boxesAlike({ boxes: [total4, total17] }, limits)).toHaveLength(2);
  expect(limitsOf(limits, total4)).toEqual({ minimum: 200, maximum: 1000 });
  expect(limitsOf(limits, total17)).toEqual({ minimum: 100, maximum: 500 });
  expect(limitsOf(limits, box("big", 105))).toBeNull();
});
