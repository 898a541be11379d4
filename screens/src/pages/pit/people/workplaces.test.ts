import { expect, test } from "vitest";
import type { Account, Assignment } from "../../../api/schema.d.ts";
import { workplaces } from "./workplaces.ts";

const account = (...roles: string[]) => ({ id: "a", enabled: true, roles }) as unknown as Account;
const at = (table: string | null, role = "dealer", who = "a") =>
  ({ account: who, table, role }) as unknown as Assignment;

test.each([
  ["a dealer without an assignment works at no table", account("dealer"), [at("1", "dealer", "b")], "no table now"],
  ["a dealer works where they are assigned", account("dealer"), [at("1"), at("2")], "Table 1, Table 2"],
  ["an assignment can be for all tables", account("supervisor"), [at(null, "supervisor")], "all tables"],
  [
    "several roles are named",
    account("dealer", "supervisor"),
    [at("1"), at("2", "supervisor")],
    "Table 1 (dealer), Table 2 (supervisor)",
  ],
  ["an assignment to a lost role does not count", account("dealer"), [at("1", "supervisor")], "no table now"],
  ["managers work at all tables", account("pit-manager"), [], "all tables"],
  ["players and auditors work at none", account("auditor"), [], ""],
  ["a disabled account works at none", { ...account("dealer"), enabled: false }, [at("1")], ""],
])("%s", (_, person, assignments, text) => {
  expect(workplaces(person, assignments)).toBe(text);
});
