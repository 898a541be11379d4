import { expect, test } from "vitest";

import type { GameView, Irregularity, TableView } from "../../api/schema.d.ts";
import { choosesRounds, concerned, inTime, onlyLocks, seconds, stops, whyNothingFollows } from "./reporting.ts";

const rule = (changes: Partial<Irregularity>) =>
  ({ consequence: "void-round", clause: "5.5", caused_by: "tumble", ...changes }) as Irregularity;

const withSteps = (...order: string[]) => ({ conduct: { procedure: { order } } }) as unknown as GameView;
const game = withSteps("open-betting", "close-betting", "tumble", "uncover", "call-result");
const thrown = withSteps("open-betting", "close-betting", "throw", "call-result");

const view = (done: string[] | null, last = 1, called: number[] | null = null): TableView =>
  ({
    rounds: 2,
    last_settled: last,
    round: done && { number: 2, done, called, known: [], stopped: null },
  }) as unknown as TableView;

test("a report before the dice are tumbled concerns the last settled round", () => {
  expect(concerned(rule({}), view(["open-betting"]))).toEqual([1]);
  expect(concerned(rule({}), view(["open-betting", "tumble"], 0))).toEqual([2]);
  expect(concerned(rule({}), view(["open-betting"], 0))).toEqual([2]);
});

test("a report after the call or the last payment needs a supervisor", () => {
  expect(seconds(game, rule({}), view(["tumble"], 0), [2])).toEqual([]);
  expect(seconds(game, rule({}), view(["tumble", "call-result"], 0, [1, 2, 3]), [2])).toContain("supervisor");
  expect(seconds(game, rule({}), view(null), [1])).toContain("supervisor");
});

test("a report in vain names the step that is not done and the rounds that are settled", () => {
  const betting = view(["open-betting"]);
  expect(whyNothingFollows(rule({}), betting, [1])).toEqual({ tooLate: [1], waitsFor: "tumble" });
  expect(whyNothingFollows(rule({}), view(["open-betting"], 0), [2])).toEqual({ tooLate: [], waitsFor: "tumble" });
  expect(whyNothingFollows(rule({}), view(null), [1])).toEqual({ tooLate: [1], waitsFor: null });
});

test("an interruption concerns a round that is being played", () => {
  const interruption = rule({ consequence: "continue-if-conclusive", caused_by: null, locks_table: true });
  expect([inTime(interruption, view(null), []), inTime(interruption, view(["tumble"]), [])]).toEqual([false, true]);
  expect(onlyLocks(interruption, view(null))).toBe(false);
});

test.each([
  ["last-payment", false, false],
  ["next-round", true, false],
  ["next-throw", true, true],
  ["always", true, true],
] as const)("a cause found until %s voids the last settled round in time", (found_until, between, betting) => {
  expect(inTime(rule({ found_until }), view(null), [1])).toBe(between);
  expect(inTime(rule({ found_until }), view(["open-betting"]), [1])).toBe(betting);
});

test("a cause voids the current round from the step on that it can go wrong in", () => {
  expect(inTime(rule({}), view(["open-betting"], 0), [2])).toBe(false);
  expect(inTime(rule({ found_until: "always" }), view(["open-betting"]), [2])).toBe(false);
  expect(inTime(rule({}), view(["open-betting", "tumble"], 0), [2])).toBe(true);
  expect(inTime(rule({ caused_by: null }), view(["open-betting"], 0), [2])).toBe(true);
});

test("a throw is not repeated before it is made", () => {
  const again = rule({ consequence: "throw-again", caused_by: "throw" });
  expect(inTime(again, view(["close-betting"], 0), [2])).toBe(false);
  expect(inTime(again, view(["close-betting", "throw"], 0), [2])).toBe(true);
});

test("equipment that fails between rounds locks the table, and voids a round only if one is chosen", () => {
  const fault = rule({ locks_table: true, found_until: "always" });
  expect(concerned(fault, view(null))).toEqual([]);
  expect(concerned(fault, view(["tumble"]))).toEqual([2]);
  expect(inTime(fault, view(null), [])).toBe(true);
  expect(inTime(fault, view(["tumble"]), [])).toBe(false);
  expect(seconds(game, fault, view(null), [])).toEqual([]);
  expect(seconds(game, fault, view(null), [1])).toContain("supervisor");
  const untilNext = rule({ locks_table: true, found_until: "next-round" });
  expect(choosesRounds(untilNext)).toBe(true);
  expect([inTime(untilNext, view(null), [1]), inTime(untilNext, view(null, 2), [1])]).toEqual([true, false]);
});

test.each([
  ["covered dice", ["close-betting", "tumble"], {}, []],
  ["open dice", ["close-betting", "tumble", "uncover"], {}, ["supervisor"]],
  ["known dice", ["tumble"], { known: [6] }, ["supervisor"]],
  ["a stopped round", ["tumble"], { stopped: { cause: "interruption" } }, ["supervisor"]],
])("a report on %s needs these roles", (_, done, changes, roles) => {
  const seen = view(done, 0);
  Object.assign(seen.round!, changes);
  expect(seconds(game, rule({}), seen, [2]).slice(0, 1)).toEqual(roles);
});

test("a throw is repeated by one person until it is called", () => {
  const again = rule({ consequence: "throw-again", caused_by: "throw" });
  const done = ["close-betting", "throw"];
  expect(seconds(thrown, again, view(done, 0), [2])).toEqual([]);
  expect(seconds(thrown, again, view(done, 0, [1, 2, 3]), [2])).toContain("supervisor");
});

test("one person's report stops the round in play, not a settled one nor one that is stopped", () => {
  const open = view(["close-betting", "tumble", "uncover"], 1);
  expect([stops(["supervisor"], open, [2]), stops(["supervisor"], open, [1]), stops([], open, [2])]).toEqual([
    true,
    false,
    false,
  ]);
  open.round!.stopped = { cause: "dice-not-flat", by: { id: "d", role: "dealer" } };
  expect(stops(["supervisor"], open, [2])).toBe(false);
});
