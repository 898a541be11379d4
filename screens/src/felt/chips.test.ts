import { expect, test } from "vitest";
import { COLOURS } from "../chips/counts.ts";
import { byName, byValue } from "./chips.ts";

test("a chip has the colours of the largest usual chip that is worth no more", () => {
  expect(byValue(3_000, "SGD")).toBe(byValue(2_500, "SGD"));
  expect(byValue(5_000, "SGD")).not.toBe(byValue(2_500, "SGD"));
  expect(byValue(5, "SGD")).toBe(byValue(100, "SGD"));
});

test("the name of a colour is found in any case, and an unknown one always has the same colours", () => {
  expect(byName(" Red ")).toBe(byName("red"));
  expect(byName("mauve")).toBe(byName("mauve"));
});

test("chips of every colour of a rack are drawn in a colour of their own, lavender not in orange", () => {
  expect(new Set(COLOURS.map((each) => byName(each).body)).size).toBe(COLOURS.length);
  expect(byName("lavender")).not.toEqual(byName("orange"));
});
