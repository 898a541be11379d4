import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { inForce } from "./force.ts";

beforeAll(() => void vi.stubGlobal("navigator", { languages: ["en-GB"] }));
afterAll(() => void vi.unstubAllGlobals());

test("a rulebook with a date is in force from then on", () => {
  const effective = "2023-10-06T08:00:00+08:00";
  expect(inForce({ in_force: true, effective, consolidated: "" })).toBe("Rules in force from 6 Oct 2023, 08:00");
  expect(inForce({ in_force: false, effective, consolidated: "" })).toBe("Rules not in force before 6 Oct 2023, 08:00");
});

test("the date of a consolidated text is named as such", () => {
  const line = { in_force: true, effective: "", consolidated: "2008-04-25" };
  expect(inForce(line)).toBe("Rules in force, consolidated 25 Apr 2008");
  expect(inForce({ ...line, consolidated: "" })).toBe("Rules in force, without a date");
});
