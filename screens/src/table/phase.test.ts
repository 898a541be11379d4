import { expect, test } from "vitest";
import type { TableView } from "../api/schema.d.ts";
import { phaseOf, secondsUntil } from "./phase.ts";

const view = (changed: object) => ({ open: true, interrupted: 0, locked: "", round: null, ...changed }) as TableView;
const round = (...done: string[]) => ({ done, result: null });

test.each([
  ["closed", { open: false }],
  ["interrupted", { interrupted: 3, round: round() }],
  ["locked", { locked: "dice-damaged" }],
  ["waiting", {}],
  ["waiting", { round: round("tumble") }],
  ["betting", { round: round("open-betting") }],
  ["closing", { round: round("open-betting", "close-betting") }],
  ["settling", { round: { done: ["open-betting", "close-betting"], result: [1, 2, 3] } }],
  ["settling", { round: round("open-betting", "close-betting", "collect-losers") }],
])("a table is %s with %j", (phase, changed) => {
  expect(phaseOf(view(changed))).toBe(phase);
});

test("a countdown shows whole seconds, and ends at zero", () => {
  expect(secondsUntil(2_000_001, 1_000_000)).toBe(2);
  expect(secondsUntil(1_000_000, 2_000_000)).toBe(0);
});
