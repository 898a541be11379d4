import { expect, test } from "vitest";
import type { ResultLine, StatementLine } from "../../api/schema.d.ts";
import { netsOf, pastRounds } from "./history.ts";

const result = (round: number, what: ResultLine["what"] = "result") =>
  ({ round, what, dice: what === "result" ? [6, 5, 4] : null }) as ResultLine;
const line = (what: string, round: number, amount: number, table = "7") =>
  ({ table, what, round, amount }) as StatementLine;

test("a round voided after the collection is void with a net of 0", () => {
  const rounds = pastRounds([result(1), result(2, "void"), result(2, "reversed")]);
  expect(rounds.map(({ round, what }) => [round, what])).toEqual([
    [2, "void"],
    [1, "result"],
  ]);
  const lines = [line("won", 1, 50), line("lost", 2, -100), line("void", 2, 0), line("reversed", 2, 100)];
  expect([...netsOf(lines, "7", rounds)]).toEqual([
    [1, 50],
    [2, 0],
  ]);
});

test("rounds reversed together keep their dice and have a net of 0 each", () => {
  const rounds = pastRounds([result(4), result(5), result(4, "reversed"), result(5, "reversed")]);
  expect(rounds.map(({ what, dice }) => [what, dice])).toEqual(Array(2).fill(["reversed", [6, 5, 4]]));
  const lines = [line("won", 4, 100), line("won", 5, 30), line("reversed", 4, -130), line("reversed", 5, 0)];
  expect([...netsOf(lines, "7", rounds).values()]).toEqual([0, 0]);
});

test("bets put back for another throw do not count twice, nor do other tables", () => {
  const lines = [line("lost", 3, -20), line("put back", 3, 20), line("lost", 3, -20), line("lost", 3, -5, "8")];
  expect(netsOf(lines, "7", pastRounds([result(3)])).get(3)).toBe(-20);
});
