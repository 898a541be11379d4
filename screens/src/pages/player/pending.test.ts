import { expect, test } from "vitest";
import * as pending from "./pending.ts";

const SENT = pending.sent(
  [],
  [
    { area: "big", amount: 100 },
    { area: "odd", amount: -300 },
  ],
  ["a", "b"],
);

test("chips are pending until the house has acknowledged them", () => {
  expect(pending.shown({ odd: 500 }, SENT)).toEqual({
    placed: { odd: 200 },
    pending: { big: 100, odd: 300 },
    spent: 0,
    going: 100,
  });
});

test("acknowledged chips are placed before the view has them", () => {
  expect(pending.shown({ odd: 500 }, pending.acknowledged(SENT, "a", 7))).toEqual({
    placed: { odd: 200, big: 100 },
    pending: { odd: 300 },
    spent: 100,
    going: 0,
  });
});

test("acknowledged chips count once when the view has caught up", () => {
  const acknowledged = pending.acknowledged(SENT, "a", 7);
  expect(pending.caughtUp(acknowledged, 6)).toBe(acknowledged);
  expect(pending.shown({ odd: 500, big: 100 }, pending.caughtUp(acknowledged, 7))).toEqual({
    placed: { odd: 200, big: 100 },
    pending: { odd: 300 },
    spent: 0,
    going: 0,
  });
});

test("a refused move is forgotten", () => {
  expect(pending.shown({ odd: 500 }, pending.forgotten(SENT, ["a", "b"]))).toEqual({
    placed: { odd: 500 },
    pending: {},
    spent: 0,
    going: 0,
  });
});

test("pending chips count as placed for what is still missing", () => {
  expect(pending.intended({ odd: 500 }, SENT)).toEqual({ odd: 200, big: 100 });
});
