import { expect, test } from "vitest";
import { drawnChips, keeping, shared } from "./felt.ts";
import type { Pile } from "./felt.ts";

const pile = (area: string, amount: number, state: Pile["state"] = "placed"): Pile => ({ area, amount, state });
const on = (...piles: Pile[]) => new Map(piles.map((each) => [each.area, [each]]));

test("areas whose piles do not change keep their list, so that they are not drawn again", () => {
  const before = on(pile("big", 100), pile("small", 100));
  const after = keeping(before, on(pile("big", 100), pile("small", 200)));
  expect(after.get("big")).toBe(before.get("big"));
  expect(after.get("small")).toEqual([pile("small", 200)]);
});

test("piles that do not change at all keep their map", () => {
  const before = on(pile("big", 100), pile("small", 100, "others"));
  expect(keeping(before, on(pile("big", 100), pile("small", 100, "others")))).toBe(before);
  expect(keeping(before, on(pile("big", 100)))).not.toBe(before);
  expect(keeping(before, on(pile("big", 100), pile("small", 100, "won")))).not.toBe(before);
});

test("the largest chips stand for a tall pile", () => {
  expect(drawnChips(12_700, [100, 2500, 10_000])).toEqual([10_000, 2500, 100]);
  expect(drawnChips(12_700, [100, 2500, 10_000], 1)).toEqual([10_000]);
});

test("chips lie next to the label of their area and inside it", () => {
  const piles = [pile("", 1200, "others"), pile("", 300)];
  for (const [width, height] of [
    [240, 300],
    [100, 120],
    [150, 80],
    [720, 100],
    [84, 62],
    [86, 55],
  ] as const) {
    const area = { id: "", box: "", x: 10, y: 20, width, height, en: ["9"], zh: [], dice: [], odds: "1 wins 6" };
    const { label, piles: placed } = shared(area, piles);
    const [own, others] = placed;
    expect([own!.pile.state, others!.pile.state]).toEqual(["placed", "others"]);
    expect(label.width * label.height).toBeGreaterThan(width * height * 0.3);
    for (const { x, y, r } of placed) {
      expect(x + r).toBeLessThanOrEqual(area.x + width);
      expect(y + r).toBeLessThanOrEqual(area.y + height);
      expect(x - r >= label.x + label.width || y - r * 1.54 >= label.y + label.height).toBe(true);
    }
  }
});
