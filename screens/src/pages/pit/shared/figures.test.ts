import { describe, expect, test } from "vitest";
import type { ShiftReportView } from "../../../api/schema.d.ts";
import { csv, judged, together } from "./figures.ts";

const REPORT = {
  rounds: 10,
  void: 1,
  seeds_lost: 0,
  fills: 500,
  credits: 0,
  drop: 10_000,
  turnover: 40_000,
  win: 1_500,
  theoretical_win: "10000/9",
  variance: "90000",
  band_low: 500,
  band_high: 1_700,
} as ShiftReportView;

describe("figures of several reports", () => {
  const both = together([REPORT, REPORT]);

  test("are their sums", () => {
    expect(both).toMatchObject({ rounds: 20, void: 2, drop: 20_000, turnover: 80_000, win: 3_000, theory: 2_222 });
  });

  test("have a band by the sum of the variances", () => {
    expect(both.sd).toBeCloseTo(Math.sqrt(180_000), 9);
    expect(both.band).toEqual([1390, 3054]);
  });

  test("have no hold without a drop", () => {
    expect(together([]).hold).toBeNull();
  });
});

test.each([
  [499, "below"],
  [500, "within"],
  [1_700, "within"],
  [1_701, "above"],
])("a win of %i is %s the band", (win, verdict) => {
  expect(judged(together([{ ...REPORT, win }]))).toBe(verdict);
});

test("a table without bets is not judged", () => {
  expect(judged(together([{ ...REPORT, turnover: 0 }]))).toBe("none");
});

test("a table's name is quoted in CSV, and is never a formula", () => {
  const [, line] = csv(
    [{ table: '=1+"2"', game: "a, b", currency: "SGD", figures: together([REPORT]) }],
    { since: "s", until: "u" },
    2,
  ).split("\r\n");
  expect(line).toMatch(/^"'=1\+""2""","a, b",SGD,s,u,10,1,5\.00,0\.00,100\.00,/);
});
