import { expect, test } from "vitest";
import { gamingDay, moment, wall } from "./zone.ts";

const at = (iso: string) => Date.parse(iso) * 1000;

test("a wall clock shows the time of its zone", () => {
  expect(wall(at("2025-01-31T00:05:00Z"), "Asia/Singapore")).toBe("2025-01-31T08:05");
});

test.each([
  ["2025-01-31T08:05", "Asia/Singapore", "2025-01-31T00:05:00Z"],
  ["2025-07-01T12:00", "Europe/Berlin", "2025-07-01T10:00:00Z"],
  ["2025-12-01T12:00", "Europe/Berlin", "2025-12-01T11:00:00Z"],
])("%s on a clock in %s is %s", (shown, zone, iso) => {
  expect(moment(shown, zone)).toBe(at(iso));
});

test("an empty field is no moment", () => {
  expect(moment("", "Asia/Singapore")).toBeNull();
});

test.each([
  ["2025-01-31T05:59:00+08:00", "2025-01-30T06:00:00+08:00"],
  ["2025-01-31T06:00:00+08:00", "2025-01-31T06:00:00+08:00"],
  ["2025-01-31T23:00:00+08:00", "2025-01-31T06:00:00+08:00"],
])("the gaming day of %s began at %s", (now, began) => {
  expect(gamingDay(at(now), "Asia/Singapore", "06:00")).toBe(at(began));
});
