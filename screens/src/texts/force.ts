// Describe from when the rulebook of a table is in force.

import type { TableLine } from "../api/schema.d.ts";
import { dayOf } from "../lib/time.ts";
import { t } from "./texts.ts";

/** Return whether and from when a rulebook is in force; the date of a consolidated text does not limit it. */
export function inForce(line: Pick<TableLine, "in_force" | "effective" | "consolidated">): string {
  const { in_force, effective, consolidated } = line;
  if (effective) return t(in_force ? "lobby.force.from" : "lobby.force.not-before", { date: dayOf(effective) });
  return consolidated ? t("lobby.force.consolidated", { date: dayOf(consolidated) }) : t("lobby.force.undated");
}
