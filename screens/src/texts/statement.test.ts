import { afterEach, expect, test } from "vitest";
import { add } from "./catalogues.ts";
import { language } from "./language.svelte.ts";
import { subjectOf } from "./statement.ts";
import hans from "./zh-Hans.json";
import hant from "./zh-Hant.json";

add("zh-Hans", hans);
add("zh-Hant", hant);
afterEach(() => {
  language.now = "en";
});

test.each([
  ["en", "Die not flat"],
  ["zh-Hans", "骰子不平"],
  ["zh-Hant", "骰子不平"],
] as const)("void and reversed rounds have their cause in %s", (name, cause) => {
  language.now = name;
  for (const what of ["void", "reversed", "put back"]) expect(subjectOf({ what, note: "dice-not-flat" })).toBe(cause);
});

test("a reason in the staff's own words is shown unchanged", () => {
  expect(subjectOf({ what: "corrected", note: "misread" })).toBe("misread");
  expect(subjectOf({ what: "void", note: "the dice fell off" })).toBe("the dice fell off");
});

test("a transfer names its table", () => {
  for (const what of ["sent to table", "from table"]) expect(subjectOf({ what, note: "pit-1" })).toBe("Pit 1");
});
