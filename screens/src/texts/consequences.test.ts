import { expect, test } from "vitest";
import type { GameView, Irregularity } from "../api/schema.d.ts";
import { consequences, recordedConsequences } from "./consequences.ts";

const GAME = { conduct: { procedure: { void: { bets: "returned" } } } } as unknown as GameView;
const byDice = (locks_table: boolean) =>
  consequences(GAME, { consequence: "settle-by-dice", clause: "7.5", locks_table } as Irregularity);

test("a wrong display that locks the table is not said to change nothing else", () => {
  expect(byDice(true).at(-1)).toBe("The table is locked until it is released.");
  expect(byDice(true).join(" ")).not.toContain("Nothing else changes");
  expect(byDice(false).at(-1)).toBe("Nothing else changes.");
});

test("bets are returned after an interruption only if the round is void", () => {
  const interruption = { consequence: "continue-if-conclusive", clause: "5.4" } as Irregularity;
  expect(consequences(GAME, interruption)).toEqual([
    "If any bet is won or lost by the dice that are known, the round goes on. If none is, it is void.",
    "If it is void, all bets are returned.",
  ]);
  expect(consequences(GAME, { ...interruption, bets: "stand" } as Irregularity).at(-1)).toBe(
    "If it is void, the bets stand for the next round.",
  );
  expect(consequences(GAME, { ...interruption, bets: "locked" } as Irregularity).at(-1)).toBe(
    "No bet may be changed meanwhile.",
  );
});

test("a fault that was recorded while no round was played only locks the table", () => {
  const fault = { consequence: "void-round", clause: "7.2", locks_table: true } as Irregularity;
  expect(recordedConsequences(GAME, fault)).toEqual(["No further round starts until the table is released."]);
  const lateBet = { consequence: "refuse", clause: "3.6" } as Irregularity;
  expect(recordedConsequences(GAME, lateBet)).toEqual(["It is refused and recorded; no bet changes."]);
});
