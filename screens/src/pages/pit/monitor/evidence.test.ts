import { expect, test } from "vitest";
import { evidenceRange, evidenceText, powersOfTen } from "./evidence.ts";

test("evidence is a number, or a power of ten where that is long", () => {
  expect([-0.5, 0, 3, 4.5, 12.34, -7].map(evidenceText)).toEqual([
    "0.316",
    "1",
    "1,000",
    "31,623",
    "10^12.3",
    "10^-7.0",
  ]);
});

test("the chart always shows 1 and the highest level", () => {
  expect(evidenceRange([{ round: 0, log10_evidence: 0 }])).toEqual({ low: -1, high: 4 });
  expect(evidenceRange([{ round: 9, log10_evidence: -2.5 }])).toEqual({ low: -3, high: 4 });
  expect(evidenceRange([{ round: 9, log10_evidence: 8.2 }])).toEqual({ low: -1, high: 9 });
});

test("a long scale has few lines, and one of them is at 1", () => {
  expect(powersOfTen({ low: -1, high: 4 })).toEqual([-1, 0, 1, 2, 3, 4]);
  expect(powersOfTen({ low: -3, high: 40 })).toEqual([0, 6, 12, 18, 24, 30, 36]);
});
