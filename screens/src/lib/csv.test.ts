import { expect, test } from "vitest";
import cells from "./csv-cells.json";
import { csvText, decimal } from "./csv.ts";

test.each([
  [12_345, 2, "123.45"],
  [-5, 2, "-0.05"],
  [7, 0, "7"],
])("%i with %i decimals is written %s", (amount, digits, text) => {
  expect(decimal(amount, digits)).toBe(text);
});

test.each(cells)("%j is written as %j", (text, written) => {
  expect(csvText([text!], [[text!, 1]])).toBe(`${written}\r\n${written},1\r\n`);
});
