import { afterEach, expect, test } from "vitest";
import { add } from "./catalogues.ts";
import { language } from "./language.svelte.ts";
import { familyName } from "./paying.ts";
import hant from "./zh-Hant.json";

add("zh-Hant", hant);
afterEach(() => {
  language.now = "en";
});

test("a family is named without the faces of its boxes", () => {
  language.now = "zh-Hant";

  expect(familyName({ family: "total", name: "Total" })).toBe("點數");
  expect(familyName({ family: "any-triple", name: "Any Triple" })).toBe("全圍");
  expect(familyName({ family: "of-my-own", name: "My Family" })).toBe("My Family");
});

test("every family whose boxes are named by faces has a name of its own", () => {
  const named = Object.entries(hant.box.family).filter(([, name]) => name.includes("{faces}"));

  expect(Object.keys(hant.box.families)).toEqual(named.map(([family]) => family));
});
