import { describe, expect, test } from "vitest";
import type { BoxView, GameView, TableView } from "../../api/schema.d.ts";
import { faults, roomAt, spotOf } from "./room.ts";
import type { Act } from "./slip.ts";

const box = (id: string, unit = 1) => ({ id, unit, ends: [""] }) as unknown as BoxView;
const GAME = {
  boxes: [box("big"), box("small"), box("total:9"), box("odd", 20)],
  conduct: {
    limits: {
      areas: "shared",
      maximum: { scope: "box", clause: "3.5" },
      minimum: { scope: "player", clause: "5.2" },
      differential: { pairs: [["big", "small"]] },
    },
  },
} as unknown as GameView;
const VIEW = {
  chips: [100, 500],
  limits: {
    families: {
      big: { minimum: 200, maximum: 1000 },
      small: { minimum: 200, maximum: 1000 },
      total: { minimum: 100, maximum: 500 },
      odd: { minimum: 100, maximum: 9000 },
    },
    boxes: {},
    differential: { big: 1000 },
  },
  round: { totals: { big: 400 } },
  seats: { ann: { bets: { big: 200 } } },
} as unknown as TableView;
const PURSE = { stack: 700, chip: 100, refuses: true };
const kinds = (purse: typeof PURSE, act: Act) =>
  faults(GAME, roomAt(GAME, VIEW, "ann"), purse, act).map((fault) => fault.kind);

describe("a set of bets", () => {
  const set = [
    { area: "big", amount: 600 },
    { area: "total:9", amount: 100 },
  ];

  test("fits when the stack, the chips and the limits allow all of it", () => {
    expect(kinds(PURSE, set)).toEqual([]);
  });

  test("does not fit when the stack is too small for all of it", () => {
    expect(kinds({ ...PURSE, stack: 600 }, set)).toEqual(["stack"]);
  });

  test("does not fit when it cannot be made of the player's chips", () => {
    expect(kinds({ ...PURSE, chip: 500 }, set)).toEqual(["chip", "chip"]);
  });
});

test("a bet over the maximum is a fault only where the rules refuse it", () => {
  expect(kinds(PURSE, [{ area: "big", amount: 700 }])).toEqual(["maximum"]);
  expect(kinds({ ...PURSE, refuses: false }, [{ area: "big", amount: 700 }])).toEqual([]);
});

test.each([
  ["small", "minimum"],
  ["gone", "unknown"],
  ["odd", "step"],
])("100 on %s breaks the rule of the %s", (area, kind) => {
  expect(kinds(PURSE, [{ area, amount: 100 }])).toEqual([kind]);
});

test("a bet may be taken back whole, but not to less than the minimum", () => {
  expect(kinds(PURSE, [{ area: "big", amount: -100 }])).toEqual(["minimum"]);
  expect(kinds(PURSE, [{ area: "big", amount: -200 }])).toEqual([]);
});

test("both ends of a box share its room unless the reading separates them", () => {
  const apart = structuredClone(GAME);
  apart.conduct.limits.areas = "per-area";
  expect(spotOf(GAME, "big@left")).toBe("big");
  expect(spotOf(apart, "big@left")).toBe("big@left");
  const both = [
    { area: "big@left", amount: 400 },
    { area: "big@right", amount: 400 },
  ];
  expect(kinds({ ...PURSE, stack: 9000 }, both)).toEqual(["maximum"]);
});
