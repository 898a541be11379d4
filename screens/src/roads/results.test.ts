import { describe, expect, test } from "vitest";
import type { Event } from "../api/schema.d.ts";
import type { Roll } from "../lib/dice.ts";
import { fates, fromColumn, linesOf, rolls, tally, withCalled, withHeard } from "./results.ts";
import { ROWS } from "./roads.ts";

describe("the rounds that stand", () => {
  test("are those that were neither void nor reversed", () => {
    const found = fates([
      { round: 1, what: "result", dice: [1, 2, 3] },
      { round: 2, what: "void" },
      { round: 3, what: "result", dice: [4, 4, 4] },
      { round: 3, what: "seed lost" },
      { round: 1, what: "reversed" },
      { round: 4, what: "result", dice: [6, 5, 1] },
    ]);
    expect(found.map(({ round, fate }) => [round, fate])).toEqual([
      [1, "reversed"],
      [2, "void"],
      [3, "result"],
      [4, "result"],
    ]);
    expect(rolls(found)).toEqual([
      [4, 4, 4],
      [6, 5, 1],
    ]);
  });

  test("lose the last round of a number when it is reversed, if a reopened table counts from one again", () => {
    const found = fates([
      { round: 1, what: "result", dice: [1, 1, 2] },
      { round: 1, what: "result", dice: [2, 2, 3] },
      { round: 1, what: "reversed" },
    ]);
    expect(found.map(({ fate }) => fate)).toEqual(["result", "reversed"]);
  });
});

describe("the lines of a full list", () => {
  const lines = (first: number, last: number) =>
    Array.from({ length: last - first + 1 }, (_, i) => ({ round: first + i, what: "result" }));

  test.each([
    [1, 1],
    [2, 7],
    [7, 7],
    [8, 13],
  ])("from round %i on begin with round %i, the first of a column", (first, begins) => {
    expect(fromColumn(lines(first, 110)).map(({ round }) => round)).toEqual(
      lines(begins, 110).map(({ round }) => round),
    );
  });

  test.each([
    ["result", 0],
    ["void", 1],
  ])("leave each bead where it is when a %s is dropped, but for %i rows", (what, rows) => {
    const all = lines(1, 111).map((line) => ({ ...line, dice: [1, 2, 3] }));
    all[2] = { ...all[2]!, what };
    const rowOf = (known: typeof all) =>
      fates(fromColumn(known))
        .filter(({ fate }) => fate === "result")
        .findIndex(({ round }) => round === 50) % ROWS;
    expect(rowOf(all.slice(1)) - rowOf(all.slice(0, 110))).toBe(rows);
  });

  test("are all there if no column begins in them", () => {
    expect(fromColumn(lines(2, 6))).toHaveLength(5);
  });
});

describe("the round that is being settled", () => {
  const past = fates([{ round: 1, what: "result", dice: [1, 2, 3] }]);

  test("counts from the call on", () => {
    expect(rolls(withCalled(past, { number: 2, called: [6, 6, 5] }))).toEqual([
      [1, 2, 3],
      [6, 6, 5],
    ]);
  });

  test.each([null, { number: 2, called: null }])("is not there before the call: %j", (round) => {
    expect(withCalled(past, round)).toBe(past);
  });
});

describe("counts", () => {
  const ROLLS: Roll[] = Array.from({ length: 130 }, (_, i) => [(i % 6) + 1, ((i * i) % 6) + 1, ((i * 7 + 3) % 5) + 1]);

  test.each([50, 100, 200])("are those of the last %i rolls", (last) => {
    const counted = ROLLS.slice(-last);
    const faces = [1, 2, 3, 4, 5, 6].map((face) => counted.flat().filter((each) => each === face).length);
    const totals = Array.from({ length: 16 }, (_, i) => counted.filter(([a, b, c]) => a + b + c === i + 3).length);
    const at = (count: number) => [1, 2, 3, 4, 5, 6].filter((face) => faces[face - 1] === count);
    expect(tally(ROLLS, last)).toEqual({
      of: counted.length,
      faces,
      totals,
      hot: at(Math.max(...faces)),
      cold: at(Math.min(...faces)),
    });
  });

  test.each([[[]], [[[1, 2, 3] as Roll, [4, 5, 6] as Roll]]])("of %j have no hot and no cold face", (all) => {
    expect(tally(all, 50)).toMatchObject({ hot: [], cold: [] });
  });
});

test("a live result counts once, however many lines of the books have been read", () => {
  const events = [
    { type: "WinnersPaid", round: 3, dice: [1, 2, 3], bets: [] },
    { type: "RoundVoided", round: 4 },
    { type: "RoundsReversed", rounds: [2, 3] },
  ] as unknown as Event[];
  const heard = events.flatMap((event, i) => linesOf(event, 30 + 10 * i));
  expect(heard.map(({ what, round }) => [what, round])).toEqual([
    ["result", 3],
    ["void", 4],
    ["reversed", 2],
    ["reversed", 3],
  ]);
  const books = [{ round: 2, what: "result", at: 20, dice: [6, 6, 6] }, ...heard];
  expect(withHeard([], heard)).toEqual(heard);
  for (let read = 1; read <= books.length; read++) expect(withHeard(books.slice(0, read), heard)).toEqual(books);
});
