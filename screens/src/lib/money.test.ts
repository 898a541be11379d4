import { afterEach, describe, expect, test } from "vitest";
import { language } from "../texts/language.svelte.ts";
import { digitsOf, money, onChip, short, typed } from "./money.ts";

afterEach(() => {
  language.now = "en";
});

test.each([
  [123456, "SGD", "1,234.56"],
  [123456, "JPY", "123,456"],
  [123456, "KWD", "123.456"],
  [-5, "SGD", "-0.05"],
])("%i minor units of %s are %s", (amount, currency, text) => {
  expect(money(amount, currency)).toBe(text);
});

test("a gain has a plus sign where signs are shown, and nothing has none", () => {
  expect(money(100, "SGD", true)).toBe("+1.00");
  expect(money(0, "SGD", true)).toBe("0.00");
});

test("whole amounts are short without decimals", () => {
  expect(short(250000, "SGD")).toBe("2,500");
  expect(short(250050, "SGD")).toBe("2,500.50");
});

test.each([
  [50, "0.5"],
  [100_000, "1K"],
  [250_000, "2.5K"],
  [100_000_000, "1M"],
])("a chip of %i cents shows %s", (amount, text) => {
  expect(onChip(amount, "SGD")).toBe(text);
});

describe("a typed amount", () => {
  test.each([
    ["12", 1200],
    ["1,234.5", 123450],
    [" 7 .05", 705],
  ])("%j is read as %i cents", (text, amount) => {
    expect(typed(text, "SGD")).toBe(amount);
  });

  test.each(["", "-1", "1.234", "1e3", "½", "1.", "9".repeat(13)])("%j is refused", (text) => {
    expect(typed(text, "SGD")).toBeNull();
  });

  test.each([[0], [1], [99], [12345], [999_999_999_999]])("is read back from what money() shows of %i", (amount) => {
    for (const currency of ["SGD", "JPY", "KWD"]) expect(typed(money(amount, currency), currency)).toBe(amount);
  });
});

test("an unknown currency has two decimals", () => {
  expect(digitsOf("")).toBe(2);
});
