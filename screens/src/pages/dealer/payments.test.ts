import { expect, test } from "vitest";
import { inPayingOrder, nextUnpaid, paymentKey, spotToPay } from "./payments.ts";
import type { Payment } from "./payments.ts";

const pay = (spot: string, player: string, winnings = 100): Payment => ({
  spot,
  player,
  stake: 100,
  winnings,
  chips: null,
});
const SEATS: Record<string, number> = { ann: 3, bob: 1, cat: 2 };
const ORDER = [pay("small", "bob"), pay("total:9", "bob"), pay("total:9", "ann")];

test("boxes are paid in the order of the sheet, and a box by seat", () => {
  const sheet = [pay("small", "bob"), pay("total:9", "ann"), pay("total:9", "bob")];
  expect(inPayingOrder(sheet, (player) => SEATS[player]!)).toEqual(ORDER);
});

test("the next payment is the first without a tick after the current one, then from the start", () => {
  const ticked = new Set([paymentKey(ORDER[1]!)]);
  expect(nextUnpaid(ORDER, ticked)).toBe(ORDER[0]);
  expect(nextUnpaid(ORDER, ticked, 0)).toBe(ORDER[2]);
  expect(nextUnpaid(ORDER, ticked, 2)).toBe(ORDER[0]);
  expect(nextUnpaid(ORDER, new Set(ORDER.map(paymentKey)), 0)).toBeUndefined();
});

test("a payment whose amount has changed is not ticked", () => {
  const ticked = new Set([paymentKey(pay("small", "bob", 100))]);
  expect(nextUnpaid([pay("small", "bob", 50)], ticked)).toBeDefined();
});

test.each([
  ["", undefined, ""],
  ["", ORDER[1], "total:9"],
  ["small", ORDER[1], "small"],
  ["big", ORDER[1], "total:9"],
])("after a tick at %j, with %j as the next, %j is paid at once", (lastTicked, current, spot) => {
  expect(spotToPay(ORDER, lastTicked, current)).toBe(spot);
});
