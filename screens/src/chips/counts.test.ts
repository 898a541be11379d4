import { expect, test } from "vitest";
import {
  chipsOfRack,
  countsOf,
  countsText,
  inRackOrder,
  parseCounts,
  signed,
  typedCounts,
  variancesText,
} from "./counts.ts";

test("value chips are listed from the largest down, then coloured chips", () => {
  expect(inRackOrder(["red", "100", "2500", "blue", "500"])).toEqual(["2500", "500", "100", "blue", "red"]);
});

test("a rack holds colours only if its game has chips without a value", () => {
  expect(chipsOfRack([100, 500], ["value"])).toEqual(["500", "100"]);
  expect(chipsOfRack([100, 500], ["value", "non-value"])).toContain("lavender");
});

test("empty fields are no chips, and zeros are left out", () => {
  expect(parseCounts({ "500": "1,200", "100": " ", "2500": "0" })).toEqual({ "500": 1200 });
  expect(parseCounts({ "500": "0" })).toEqual({});
});

test.each(["", "x", "-1", "1.5", "9999999"])("%j is no count", (text) => {
  expect(parseCounts({ "500": text })).toBeNull();
});

test("one wrong field makes the whole count incomplete", () => {
  expect(parseCounts({ "500": "4", "100": "x" })).toBeNull();
});

test("counts that were typed before can be edited again", () => {
  expect(parseCounts(typedCounts({ "500": 1200, red: 4 }))).toEqual({ "500": 1200, red: 4 });
  expect(typedCounts(null)).toEqual({});
});

test("counts are described from the largest chip down", () => {
  expect(countsText({ "100": 2, red: 20, "2500": 4 }, "SGD")).toBe("4 × 25, 2 × 1, 20 × red");
  expect(countsText({ "100": 1000 }, "SGD")).toBe("1,000 × 1");
});

test("differences have their signs in a line", () => {
  expect(variancesText({ "100": 2, "2500": -1, "500": 0 }, "SGD")).toBe("−1 × 25, +2 × 1");
});

test.each([
  [3, "+3"],
  [0, "0"],
  [-3, "−3"],
  [-1200, "−1,200"],
])("a difference of %i is written %s", (count, text) => {
  expect(signed(count)).toBe(text);
});

test("the counts of a command are found under any of their names", () => {
  expect(countsOf({ type: "OpenTable", rack: { "100": 1 } })).toEqual({ "100": 1 });
  expect(countsOf({ type: "FillFloat", counts: { "100": 2 } })).toEqual({ "100": 2 });
  expect(countsOf({ type: "CountDrop", notes: { "5000": 3 } })).toEqual({ "5000": 3 });
  expect(countsOf({ type: "CloseTable" })).toBeNull();
});
