import { expect, test } from "vitest";
import type { GameView } from "../../../api/schema.d.ts";
import { faultsOf, isFaulty, openingOf, usualTerms } from "./terms.ts";

const box = (id: string, odds: string, unit = 1) => ({ id, family: id.split(":")[0], unit, lines: [{ odds }] });
const GAME = {
  boxes: [box("big", "1 to 1"), box("triple:1", "180 to 1"), box("triple:2", "180 to 1"), box("tax", "19 to 20", 20)],
  conduct: { limits: { differential: { pairs: [["big", "small"]] } } },
} as unknown as GameView;
const terms = () => usualTerms(GAME, "SGD", false);

test("proposed terms have no fault, and long odds have a lower maximum", () => {
  expect(isFaulty(faultsOf(terms(), GAME, "SGD"))).toBe(false);
  expect(openingOf("7", "SGD", terms())).toEqual({
    type: "OpenTable",
    table: "7",
    currency: "SGD",
    mode: "record",
    chips: [100, 500, 2500, 10_000, 50_000, 100_000],
    float_amount: 10_000_000,
    limits: {
      families: {
        big: { minimum: 500, maximum: 100_000 },
        triple: { minimum: 500, maximum: 10_000 },
        tax: { minimum: 2000, maximum: 100_000 },
      },
      boxes: {},
      differential: { big: 1_000_000 },
    },
  });
});

test("a counted rack is the float, whatever was typed for it", () => {
  const counted = { ...terms(), float: "much" };
  expect(isFaulty(faultsOf(counted, GAME, "SGD", true))).toBe(false);
  expect(openingOf("7", "SGD", counted, { "2500": 4, red: 10 })).toMatchObject({
    float_amount: 10_000,
    rack: { "2500": 4, red: 10 },
  });
});

test.each([
  ["x", "10", "amount"],
  ["0", "10", "amount"],
  ["20", "10", "range"],
  ["10.50", "20", "step"],
])("limits of %j to %j have the fault %j", (minimum, maximum, fault) => {
  const changed = terms();
  changed.limits.families["big"] = { minimum, maximum };
  expect(faultsOf(changed, GAME, "SGD").limits).toEqual({ big: fault });
});

test("a box that pays 19 to 20 has limits in multiples of twenty chips", () => {
  const changed = terms();
  changed.limits.families["tax"] = { minimum: "10", maximum: "100" };
  expect(faultsOf(changed, GAME, "SGD").limits).toEqual({ tax: "step" });
});

test("a float that the smallest chip cannot make is a fault", () => {
  expect(faultsOf({ ...terms(), float: "100.50" }, GAME, "SGD").float).toBe("step");
  expect(faultsOf({ ...terms(), float: "much" }, GAME, "SGD").float).toBe("amount");
});
