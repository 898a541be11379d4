import { expect, test } from "vitest";
import * as slips from "./slip.ts";

const ONE = [{ area: "big", amount: 100 }];
const TWO = [
  { area: "small", amount: 500 },
  { area: "big", amount: -100 },
];

test("undo takes the last act back, the last move first", () => {
  const slip = slips.did(slips.did(slips.EMPTY, ONE), TWO);
  expect(slips.undoing(slip)?.act).toEqual([
    { area: "big", amount: 100 },
    { area: "small", amount: -500 },
  ]);
});

test("redo does the undone act again", () => {
  const slip = slips.did(slips.did(slips.EMPTY, ONE), TWO);
  expect(slips.redoing(slips.undoing(slip)!.after)).toEqual({ act: TWO, after: slip });
});

test("a new act ends what can be redone", () => {
  const undone = slips.undoing(slips.did(slips.EMPTY, TWO))!.after;
  expect(slips.redoing(slips.did(undone, ONE))).toBeNull();
});

test("an empty slip has nothing to undo", () => {
  expect(slips.undoing(slips.EMPTY)).toBeNull();
});

test("a set is laid with the largest bet first, and cleared with the largest last", () => {
  const lying = { big: 400, "total:9": 1000 };
  expect(slips.laid(lying)).toEqual([
    { area: "total:9", amount: 1000 },
    { area: "big", amount: 400 },
  ]);
  expect(slips.cleared(lying)).toEqual([
    { area: "big", amount: -400 },
    { area: "total:9", amount: -1000 },
  ]);
  expect(slips.totalOf(lying)).toBe(1400);
});

test("bets are halved exactly or not at all", () => {
  const inHundreds = () => 100;
  expect(slips.halved({ big: 400, "total:9": 1000 }, inHundreds)).toEqual([
    { area: "big", amount: -200 },
    { area: "total:9", amount: -500 },
  ]);
  expect(slips.halved({ big: 400, small: 300 }, inHundreds)).toEqual({ odd: "small" });
});

test.each([
  [null],
  [[100]],
  ["big"],
  [{ big: 0 }],
  [{ big: -1 }],
  [{ big: 0.5 }],
  [{ big: "100" }],
  [{ big: 2 ** 60 }],
])("%j is no set of chips", (value) => {
  expect(slips.isSet(value)).toBe(false);
});

test("a rebet places only the chips of the last round that are missing", () => {
  const last = { big: 200, "total:9": 100 };
  expect(slips.missing(last, {})).toEqual(slips.laid(last));
  expect(slips.missing(last, { big: 100 })).toEqual([{ area: "big", amount: 100 }, { area: "total:9", amount: 100 }]); // prettier-ignore
  expect(slips.missing(last, { big: 300, "total:9": 100, small: 500 })).toEqual([]);
});
