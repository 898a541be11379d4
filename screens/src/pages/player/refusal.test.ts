import { expect, test } from "vitest";
import { possible, worded } from "./refusal.ts";

const REFUSED = {
  message: "500 is more than fits: 300 of 1000 (3.5, 5.1)",
  clause: ["3.5", "5.1"],
  facts: { amount: 500, room: 300, maximum: 1000 },
};
const PLAIN = { message: "choose 3 different dice of the 5 offered", clause: [], facts: { chosen: 3, offered: 5 } };

test("amounts in a refusal are formatted, and its clauses are left out", () => {
  expect(worded(REFUSED, (amount) => `$${amount / 100}`)).toBe("$5 is more than fits: $3 of $10");
});

test("numbers that are no amounts stay as they are", () => {
  expect(worded(PLAIN, () => "?")).toBe(PLAIN.message);
});

test("a refusal names the largest bet that fits", () => {
  expect(possible(REFUSED)).toEqual({ key: "fits", amount: 300 });
  expect(possible({ ...REFUSED, facts: { room: 0 } })).toEqual({ key: "fits-nothing", amount: 0 });
  expect(possible(PLAIN)).toBeNull();
});
