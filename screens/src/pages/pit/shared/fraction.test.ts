import { expect, test } from "vitest";
import { approximate, fraction, plus, rounded } from "./fraction.ts";

test("fractions are added exactly", () => {
  expect(plus(fraction("1/6"), fraction("1/3"))).toEqual(fraction("1/2"));
  expect(plus(fraction("-5/216"), fraction("5/216")).n).toBe(0n);
});

test.each([
  ["7/2", 4],
  ["-7/2", -4],
  ["10/3", 3],
  ["5", 5],
])("%s rounds to %i, a half away from zero", (text, whole) => {
  expect(rounded(fraction(text))).toBe(whole);
});

test("a fraction is approximated for display", () => {
  expect(approximate(fraction("37/36"))).toBeCloseTo(1.027777, 6);
});
