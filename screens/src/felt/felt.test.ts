import { expect, test } from "vitest";
import { drawnChips, shared } from "./felt.ts";
import type { Pile } from "./felt.ts";

const pile = (area: string, amount: number, state: Pile["state"] = "placed"): Pile => ({ area, amount, state });

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
