import { expect, test } from "vitest";
import type { StatementLine } from "../../api/schema.d.ts";
import * as notices from "./notices.ts";

const line = (what: string, round: number, note = "", table = "7") =>
  ({ at: 1000, table, what, round, amount: 0, note, debt: 0 }) as StatementLine;
const LINES = [
  line("won", 1),
  line("void", 2, "dice-damaged"),
  line("notice", 3, "goes on"),
  line("put back", 3),
  line("void", 4, "", "8"),
];
const FOUND = notices.inStatement(LINES, "7", 2000);
const ids = (all: readonly notices.Notice[]) => all.map((each) => each.id);

test("a statement has notices of void and continued rounds of its table", () => {
  expect(ids(FOUND)).toEqual(["void 2", "goes-on 3"]);
});

test("a statement has a notice of winnings that reduced a debt", () => {
  const [found] = notices.inStatement([{ ...line("set off", 5, "winnings"), debt: -30 }], "7", 2000);
  expect(found).toMatchObject({ what: "set-off", round: 5, amount: 30, note: "winnings" });
});

test("amounts of one round that were set off at different times have a notice each", () => {
  const [first, second] = [1000, 1200].map((at) => ({ ...line("set off", 5, "winnings"), at, debt: -30 }));
  const lines = [first!, second!, second!];
  const kept = notices.inStatement(lines, "7", 2000).reduce(notices.told, notices.NONE);
  expect(kept.open.map(({ amount }) => amount)).toEqual([30, 30]);
});

test("rounds reversed together have one notice, with the amount of all", () => {
  const lines = [{ ...line("reversed", 4), amount: -50 }, line("reversed", 5)];
  expect(ids(notices.inStatement(lines, "7", 2000))).toEqual(["reversed 4"]);
});

test("lines older than a day are no news", () => {
  expect(notices.inStatement(LINES, "7", 1000 + notices.NEWS_MICROSECONDS)).toEqual([]);
});

test("a notice is open once, however often it arrives", () => {
  const twice = [...FOUND, ...FOUND].reduce(notices.told, notices.NONE);
  expect(ids(twice.open)).toEqual(["void 2", "goes-on 3"]);
});

test("a dismissed notice stays dismissed", () => {
  const read = notices.dismissed(FOUND.reduce(notices.told, notices.NONE), "void 2");
  expect(ids(FOUND.reduce(notices.told, read).open)).toEqual(["goes-on 3"]);
});
