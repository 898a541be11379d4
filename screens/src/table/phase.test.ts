import { expect, test } from "vitest";
import type { TableView } from "../api/schema.d.ts";
import { isUnattended, phaseOf, secondsUntil } from "./phase.ts";

const waiting: Partial<TableView> = { open: true, interrupted: 0, locked: [], round: null };
const view = (changed: object) => ({ ...waiting, ...changed }) as TableView;
const round = (...done: string[]) => ({ done, result: null });

test.each([
  ["closed", { open: false }],
  ["interrupted", { interrupted: 3, round: round() }],
  ["locked", { locked: ["dice-damaged"] }],
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

test("a table that people deal is unattended when no round was dealt for a while", () => {
  const now = 3_600_000_000;
  expect(isUnattended(false, "waiting", 0, now)).toBe(true);
  expect(isUnattended(false, "waiting", now - 60_000_000, now)).toBe(false);
  expect(isUnattended(false, "betting", 0, now)).toBe(false);
  expect(isUnattended(true, "waiting", 0, now)).toBe(false);
});
