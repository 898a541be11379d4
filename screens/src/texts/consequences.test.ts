import { expect, test } from "vitest";
import type { GameView, Irregularity } from "../api/schema.d.ts";
import { consequences } from "./consequences.ts";

const GAME = { conduct: { procedure: { void: { bets: "returned" } } } } as unknown as GameView;
const byDice = (locks_table: boolean) =>
  consequences(GAME, { consequence: "settle-by-dice", clause: "7.5", locks_table } as Irregularity);

test("a wrong display that locks the table is not said to change nothing else", () => {
  expect(byDice(true).at(-1)).toBe("The table is locked until it is released.");
  expect(byDice(true).join(" ")).not.toContain("Nothing else changes");
  expect(byDice(false).at(-1)).toBe("Nothing else changes.");
});
