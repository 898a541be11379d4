import { expect, test } from "vitest";
import { worded } from "./refusal.ts";

const REFUSED = {
  message: "500 is more than fits: 300 of 1000 (3.5, 5.1)",
  clause: ["3.5", "5.1"],
  facts: { amount: 500, room: 300, maximum: 1000 },
};
const PLAIN = { message: "choose 3 different dice of the 5 offered", clause: [], facts: { chosen: 3, offered: 5 } };

test("amounts in a refusal are formatted, and its clauses are left out", () => {
  expect(worded(REFUSED, (amount) => `$${amount / 100}`)).toBe("$5 is more than fits: $3 of $10.");
});

test("players and roles in a refusal are named", () => {
  const facts = { player: "ann.b", owing: 46000, free: 55000 };
  const held = { message: "Ann.b owes 46000; only 55000 may leave (7.1)", clause: ["7.1"], facts };
  expect(
    worded(
      held,
      (amount) => String(amount / 100),
      () => "seat 1",
    ),
  ).toBe("Seat 1 owes 460; only 550 may leave.");
  const allowed = { role: "dealer", allowed: "supervisor, pit-manager" };
  const refused = { message: "Dealer may not do this; supervisor, pit-manager may", clause: [], facts: allowed };
  expect(worded(refused, String)).toBe("Dealer may not do this; supervisor, pit manager may.");
});

test("irregularities, steps and units in a refusal are named", () => {
  const late = {
    message: "Dice-not-flat cannot be reported now",
    clause: [],
    facts: { irregularity: "dice-not-flat" },
  };
  expect(worded(late, String)).toBe("Die not flat cannot be reported now.");
  const facts = { unit: "spin", cause: "tumbler-fault, display-wrong" };
  const locked = { message: `no further spin starts until the table is released: ${facts.cause}`, clause: [], facts };
  expect(worded(locked, String)).toBe(
    "No further spin starts until the table is released: Tumbler fault, Display wrong.",
  );
  const early = { message: "Illuminate comes after enter-result", clause: [], facts: { step: "illuminate", after: "enter-result" } }; // prettier-ignore
  expect(worded(early, String)).toBe("Light the winners comes after Enter the result.");
});

test("a cause in the staff's own words is kept", () => {
  const facts = { unit: "spin", cause: "the bell rings" };
  const locked = { message: `no further spin starts until the table is released: ${facts.cause}`, clause: [], facts };
  expect(worded(locked, String)).toBe("No further spin starts until the table is released: the bell rings.");
});

test("numbers that are no amounts stay as they are", () => {
  expect(worded(PLAIN, () => "?")).toBe("Choose 3 different dice of the 5 offered.");
});

test("a box in a refusal is named, and a sentence keeps its own full stop", () => {
  const over = { message: "nothing in total:9 is over a limit.", clause: [], facts: { box: "total:9" } };
  expect(worded(over, String)).toBe("Nothing in Total 9 is over a limit.");
});
