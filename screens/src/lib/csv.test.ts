import { expect, test } from "vitest";
import { cell, decimal } from "./csv.ts";

test.each([
  [12_345, 2, "123.45"],
  [-5, 2, "-0.05"],
  [7, 0, "7"],
])("%i with %i decimals is written %s", (amount, digits, text) => {
  expect(decimal(amount, digits)).toBe(text);
});

test.each([
  ["plain", "plain"],
  ["a, b", '"a, b"'],
  ['say "six"', '"say ""six"""'],
  ["=1+2", "'=1+2"],
  ["@home", "'@home"],
])("%s is written as %s", (text, written) => {
  expect(cell(text)).toBe(written);
});
