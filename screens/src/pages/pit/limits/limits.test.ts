import { expect, test } from "vitest";
import type { TableLimits } from "../../../api/schema.d.ts";
import { changes, draftOf, limitsOf } from "./limits.ts";

const LIMITS: TableLimits = {
  families: { big: { minimum: 500, maximum: 100_000 }, single: { minimum: 100, maximum: 20_000 } },
  boxes: { "single:6": { minimum: 100, maximum: 10_000 } },
  differential: { big: 50_000 },
};
const draft = () => draftOf(LIMITS, (amount) => String(amount / 100));

test("limits are read back as they were shown", () => {
  expect(limitsOf(draft(), "SGD")).toEqual(LIMITS);
});

test.each([
  ["", "5"],
  ["5", "4"],
  ["0", "5"],
  ["x", "5"],
])("a minimum of %j with a maximum of %j is no limit", (minimum, maximum) => {
  expect(limitsOf({ ...draft(), families: { big: { minimum, maximum } } }, "SGD")).toBeNull();
});

test("changes name what differs, before and after", () => {
  const after = structuredClone(LIMITS);
  after.families["big"]!.maximum = 200_000;
  delete after.boxes!["single:6"];
  expect(changes(LIMITS, after)).toEqual([
    { what: "big", before: LIMITS.families["big"], after: { minimum: 500, maximum: 200_000 } },
    { what: "single:6", before: LIMITS.boxes!["single:6"], after: null },
  ]);
  expect(changes(LIMITS, LIMITS)).toEqual([]);
});
