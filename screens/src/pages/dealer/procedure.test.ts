import { expect, test } from "vitest";
import type { GameView, TableView } from "../../api/schema.d.ts";
import { isOptional } from "./procedure.ts";

const GAME = {
  conduct: {
    procedure: { steps: { illuminate: { equipment: ["lights"] }, uncover: {}, "enter-result": { optional: true } } },
    irregularities: { "equipment-malfunction": { pieces: ["lights", "bell"] } },
  },
} as unknown as GameView;

const view = (locked: string[], unnamed: string[]) => ({ locked, round: { unnamed } }) as unknown as TableView;

test.each([
  ["a malfunction that locks the table and names no piece", ["equipment-malfunction"], ["equipment-malfunction"], true],
  ["a malfunction whose report names the piece", ["equipment-malfunction"], [], false],
  ["a malfunction that no longer locks the table", [], ["equipment-malfunction"], false],
])("%s: a step with its equipment may be left out: %$3s", (_, locked, unnamed, optional) => {
  expect(isOptional(GAME, view(locked, unnamed), "illuminate")).toBe(optional);
});

test("a malfunction leaves no step without equipment out, and a step that the rulebook calls optional always", () => {
  const there = view(["equipment-malfunction"], ["equipment-malfunction"]);
  expect(isOptional(GAME, there, "uncover")).toBe(false);
  expect(isOptional(GAME, view([], []), "enter-result")).toBe(true);
});
