import { expect, test } from "vitest";
import type { LedgersView } from "../../api/schema.d.ts";
import { statementCsv } from "./statementCsv.ts";

test("every line of every account is exported with its balance", () => {
  const line = { at: 1_700_000_000_000_000, table: "", what: "deposited", note: "", round: 0, debt: 0 };
  const statement = {
    currency: "SGD",
    ledgers: [
      { table: "", lines: [{ ...line, amount: 5_000, balance: 5_000 }] },
      { table: "t-1", lines: [{ ...line, what: "lost", note: "total:9", round: 3, amount: -150, balance: -50 }] },
    ],
  } as unknown as LedgersView;

  expect(statementCsv(statement, 2).split("\r\n")).toEqual([
    "account,time,movement,note,round,currency,amount,debt,balance",
    "house,2023-11-14T22:13:20.000Z,deposited,,,SGD,50.00,0.00,50.00",
    "t-1,2023-11-14T22:13:20.000Z,lost,total:9,3,SGD,-1.50,0.00,-0.50",
    "",
  ]);
});
