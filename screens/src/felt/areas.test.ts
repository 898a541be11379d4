import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { FeltState, MOST_CHANGED } from "./areas.svelte.ts";
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
  const inFrame = MOST_CHANGED / 2; // chips count twice
  const ids = Array.from({ length: 3 * inFrame }, (_, i) => `box${i}`);
  const table = felt(...ids);
  table.show(
    ids.map((id) => pile(id, 100, "others")),
    NO_LIGHTS,
    [],
  );
  const full = () => table.areas.filter(({ piles }) => piles.length).length;
  expect(full()).toBe(ids.length); // a page that opens shows everything at once

  table.show([pile(ids.at(-1)!, 100, "won")], new Set([ids.at(-2)!]), []);
  nextFrame(); // it draws the rest of the page
  expect(full()).toBe(ids.length);
  nextFrame();
  expect(full()).toBe(ids.length - inFrame + 1);
  expect(table.areas.at(-1)!.piles).toEqual([pile(ids.at(-1)!, 100, "won")]);
  expect(table.areas.at(-2)!.lit).toBe(true);
  nextFrame();
  expect(full()).toBe(ids.length - 2 * inFrame + 1);
  nextFrame();
  expect(full()).toBe(1);
});

test("a frame lights twice as many lamps as it changes piles", () => {
  const ids = Array.from({ length: 2 * MOST_CHANGED }, (_, i) => `box${i}`);
  const table = felt(...ids);
  const lit = () => table.areas.filter((area) => area.lit).length;
  table.show([], NO_LIGHTS, []);
  table.show([], new Set(ids), []);
  nextFrame();
  nextFrame();
  expect(lit()).toBe(MOST_CHANGED);
  nextFrame();
  expect(lit()).toBe(ids.length);
});

test("what fits into a frame is shown at once", () => {
  const table = felt("big", "small");
  table.show([], NO_LIGHTS, []);
  table.show([pile("big", 100, "pending")], NO_LIGHTS, []);
  expect(table.areas[0]!.piles).toHaveLength(1);
});

test("what is shown while areas wait replaces them", () => {
  const ids = Array.from({ length: MOST_CHANGED }, (_, i) => `box${i}`);
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
