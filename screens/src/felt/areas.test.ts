import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { AT_ONCE, FeltState } from "./areas.svelte.ts";
import type { Pile } from "./felt.ts";

const NO_LIGHTS: ReadonlySet<string> = new Set();
const pile = (at: string, amount: number, state: Pile["state"] = "placed"): Pile => ({ area: at, amount, state });
const felt = (...ids: string[]) =>
  new FeltState(
    ids.map((id) => ({ id, box: id, x: 0, y: 0, width: 100, height: 100, en: [], zh: [], dice: [], odds: "" })),
  );

let frames: (() => void)[] = [];
const nextFrame = () => {
  const now = frames;
  frames = [];
  now.forEach((each) => each());
};

beforeEach(() => {
  frames = [];
  vi.stubGlobal("requestAnimationFrame", (next: () => void) => frames.push(next));
});
afterEach(() => vi.unstubAllGlobals());

test("areas whose piles do not change keep their list, so that they are not drawn again", () => {
  const table = felt("big", "small", "odd");
  const [big, small, odd] = table.areas;
  table.show([pile("big", 100), pile("small", 100)], NO_LIGHTS, []);
  const before = [big!.piles, odd!.piles];
  table.show([pile("small", 200), pile("big", 100)], NO_LIGHTS, []);
  expect(big!.piles).toBe(before[0]);
  expect(odd!.piles).toBe(before[1]);
  expect(small!.piles).toEqual([pile("small", 200)]);
});

test("a frame changes few areas, lamps and the player's own chips first", () => {
  const ids = Array.from({ length: 3 * AT_ONCE }, (_, i) => `box${i}`);
  const table = felt(...ids);
  table.show(
    ids.map((id) => pile(id, 100, "others")),
    NO_LIGHTS,
    [],
  );
  const full = () => table.areas.filter(({ piles }) => piles.length).length;
  expect(full()).toBe(ids.length); // a page that opens shows everything at once

  table.show([pile(ids.at(-1)!, 100, "won")], new Set([ids.at(-2)!]), []);
  expect(full()).toBe(ids.length - AT_ONCE + 1);
  expect(table.areas.at(-1)!.piles).toEqual([pile(ids.at(-1)!, 100, "won")]);
  expect(table.areas.at(-2)!.lit).toBe(true);
  nextFrame();
  expect(full()).toBe(ids.length - 2 * AT_ONCE + 1);
  nextFrame();
  expect(full()).toBe(1);
});

test("what is shown while areas wait replaces them", () => {
  const ids = Array.from({ length: 2 * AT_ONCE }, (_, i) => `box${i}`);
  const table = felt(...ids);
  table.show([], NO_LIGHTS, []);
  table.show(
    ids.map((id) => pile(id, 100)),
    NO_LIGHTS,
    [],
  );
  table.show([], NO_LIGHTS, ["named"]);
  nextFrame();
  nextFrame();
  expect(table.areas.every(({ piles }) => !piles.length)).toBe(true);
  expect(table.areas[0]!.description).toBe("named");
});
