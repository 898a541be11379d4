import { afterEach, expect, test } from "vitest";
import { language } from "../texts/language.svelte.ts";
import { number, percent } from "./numbers.ts";

afterEach(() => {
  language.now = "en";
});

test.each(["en", "zh-Hant", "zh-Hans"] as const)("numbers in %s have separators and their decimals", (name) => {
  language.now = name;

  expect(number(13000)).toBe("13,000");
  expect(number(1234.5, 2)).toBe("1,234.50");
  expect(number(0.5, 1, true)).toBe("+0.5");
  expect(number(0, 1, true)).toBe("0.0");
  expect(percent(2.7778, 2)).toBe("2.78 %");
});
