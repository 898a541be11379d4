import { expect, test } from "vitest";
import * as favourites from "./favourites.ts";

const FIFTEEN = Array.from({ length: 15 }, (_, i) => i + 1).reduce<favourites.Favourites>(
  (all, i) => favourites.added(all, ` Set  ${i} `, { big: 100 * i }),
  [],
);

test("names are trimmed and unique", () => {
  expect(FIFTEEN.at(-1)?.name).toBe("Set 15");
  expect(favourites.nameFault(FIFTEEN, "Set 3")).toBe("taken");
  expect(favourites.nameFault(FIFTEEN, "  ")).toBe("empty");
  expect(favourites.nameFault(FIFTEEN, "Set 3", "Set 3")).toBeNull();
});

test("a favourite is renamed to a free name only", () => {
  const renamed = favourites.renamed(FIFTEEN, "Set 3", "Mine");
  expect(renamed.map((each) => each.name)).toContain("Mine");
  expect(favourites.renamed(renamed, "Mine", "Set 4")).toBe(renamed);
  expect(favourites.without(renamed, "Mine")).toHaveLength(14);
});

test("there are at most 40 favourites", () => {
  let all = FIFTEEN;
  for (let i = 16; i <= 60; i++) all = favourites.added(all, `Set ${i}`, { big: 1 });
  expect(all).toHaveLength(favourites.MOST);
  expect(favourites.nameFault(all, "one more")).toBe("full");
});
