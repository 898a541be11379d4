import { expect, test } from "vitest";

import type { VoidCount } from "../../../api/schema.d.ts";
import { voidsByPerson } from "./voids.ts";

const voids = (by: string, approved_by: string, cause: string, count: number): VoidCount => ({
  by,
  name: by && `${by}'s name`,
  approved_by,
  approver: approved_by && `${approved_by}'s name`,
  cause,
  count,
});

test("void rounds of several tables are added up by person, with those that nobody else approved", () => {
  const found = voidsByPerson([
    voids("ann", "", "too-few-tumbles", 2),
    voids("bob", "sue", "dice-not-flat", 1),
    voids("ann", "sue", "dice-not-flat", 3),
    voids("ann", "", "dice-not-flat", 1),
  ]);

  expect(found.map(({ name, count, alone }) => [name, count, alone])).toEqual([
    ["ann's name", 6, 3],
    ["bob's name", 1, 0],
  ]);
  expect(found[0]!.approvers).toEqual([["sue's name", 3]]);
  expect(found[0]!.causes).toEqual([
    ["dice-not-flat", 4],
    ["too-few-tumbles", 2],
  ]);
});

test("a person without a name is shown by their id", () => {
  expect(voidsByPerson([{ ...voids("house", "", "interruption", 1), name: "" }])[0]!.name).toBe("house");
});
