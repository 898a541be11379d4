import { expect, test } from "vitest";
import { spanOf } from "./period.ts";

const at = (iso: string) => Date.parse(iso) * 1000;
const SINGAPORE = { zone: "Asia/Singapore", starts: "06:00" };
const BERLIN = { zone: "Europe/Berlin", starts: "06:00" };
const NOW = at("2025-01-31T05:30:00+08:00");

test.each([
  ["today", "2025-01-30T06:00:00+08:00"],
  ["week", "2025-01-24T06:00:00+08:00"],
  ["month", "2025-01-01T06:00:00+08:00"],
] as const)("the period %s begins with a gaming day", (period, since) => {
  expect(spanOf(period, NOW, SINGAPORE)).toEqual({ since: at(since) });
});

test("a week with a change of the clock begins at the same time of day", () => {
  expect(spanOf("week", at("2025-04-02T12:00:00+02:00"), BERLIN)).toEqual({ since: at("2025-03-27T06:00:00+01:00") });
});

test("everything has no bounds", () => {
  expect(spanOf("all", NOW, SINGAPORE)).toEqual({});
});

test("dates include the gaming days of both ends", () => {
  expect(spanOf("dates", NOW, SINGAPORE, "2025-01-01", "2025-01-02")).toEqual({
    since: at("2025-01-01T06:00:00+08:00"),
    until: at("2025-01-03T06:00:00+08:00"),
  });
  expect(spanOf("dates", NOW, BERLIN, "", "2025-03-29")).toEqual({ until: at("2025-03-30T06:00:00+02:00") });
  expect(spanOf("dates", NOW, SINGAPORE)).toEqual({});
});
