import { expect, test } from "vitest";
import { chipsText, fewestChips, parseChips, usualChips } from "./denominations.ts";

test("proposed denominations are read back as they are shown", () => {
  for (const currency of ["SGD", "JPY", "KWD"]) {
    const chips = usualChips(currency);
    expect(parseChips(chipsText(chips, currency), currency)).toEqual({ chips, fault: null });
  }
});

test.each([
  ["", { code: "none" }],
  ["1 five", { code: "amount", text: "five" }],
  ["0 5", { code: "amount", text: "0" }],
  ["5 1", { code: "order", text: "1" }],
  ["5, 25, 25", { code: "order", text: "25" }],
  ["2 5", { code: "multiple", text: "5" }],
])("the fault of %j is explained", (text, fault) => {
  expect(parseChips(text, "SGD").fault).toEqual(fault);
});

test("denominations may be separated by commas, also Chinese ones", () => {
  expect(parseChips("0.50，1、5, 25", "SGD").chips).toEqual([50, 100, 500, 2500]);
});

test.each([
  [
    17_500,
    [100, 500, 2500, 10_000],
    [
      [10_000, 1],
      [2500, 3],
    ],
  ],
  [4000, [500, 2000, 2500], [[2000, 2]]],
  [10_000_000, [100, 500, 2500, 10_000], [[10_000, 1000]]],
  [
    650,
    [100, 500],
    [
      [500, 1],
      [100, 1],
    ],
  ],
  [0, [100], []],
])("%i is paid in the fewest chips of %j", (amount, chips, expected) => {
  expect(fewestChips(amount, chips).map(({ chip, count }) => [chip, count])).toEqual(expected);
});
