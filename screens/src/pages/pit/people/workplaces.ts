// Name the tables that an account may work at now.

import type { Account, Assignment } from "../../../api/schema.d.ts";
import { roleName } from "../../../lib/roles.ts";
import { tableTitle } from "../../../texts/tables.ts";
import { listed, t } from "../../../texts/texts.ts";

const MANAGERS: readonly string[] = ["pit-manager", "shift-manager"];
const ASSIGNED: readonly string[] = ["dealer", "game-supervisor", "supervisor"];

/**
 * Describe where an account works: managers at all tables, other staff where they are assigned now. Empty for roles that
 * work at no table, and for a disabled account.
 */
export function workplaces(account: Account, assignments: readonly Assignment[]): string {
  if (!account.enabled) return "";
  if (account.roles.some((role) => MANAGERS.includes(role))) return t("pit.people.all-tables");
  if (!account.roles.some((role) => ASSIGNED.includes(role))) return "";
  const own = assignments.filter((each) => each.account === account.id && account.roles.includes(each.role));
  if (!own.length) return t("pit.people.no-table");
  const places = own.map((each) => {
    const table = each.table === null ? t("pit.people.all-tables") : tableTitle(each.table);
    return account.roles.length > 1 ? `${table} (${roleName(each.role)})` : table;
  });
  return listed(places);
}
