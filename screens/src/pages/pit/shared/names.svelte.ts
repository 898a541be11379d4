// Name the people of a log, which has only ids. Names are stored separately, for users who may see them.

import { get } from "../../../api/client.ts";
import { nameOf } from "../../../lib/people.ts";
import { lineOf, peopleAt } from "../../../lib/people.svelte.ts";
import { has } from "../../../lib/session.svelte.ts";

const names = $state<Record<string, string>>({});
let everybody: Promise<void> | null = null;

/** Return a player's name: at a table with their seat, elsewhere with their card number. */
export function playerName(id: string, table = ""): string {
  if (!id) return "";
  if (table) return peopleAt(table).label(id);
  const line = lineOf(id);
  return line ? [nameOf(line), line.card].filter(Boolean).join(" · ") : "…";
}

/** Return the name of a member of staff, if the user may see it, or the beginning of their id. */
export function staffName(id: string): string {
  if (has("pit-manager", "shift-manager", "auditor", "administrator")) everybody ??= learnStaff();
  return names[id] ?? short(id);
}

async function learnStaff(): Promise<void> {
  try {
    for (const each of await get("/api/people", { background: true })) names[each.id] ??= each.name;
  } catch {
    everybody = null;
  }
}

const short = (id: string): string => (id.length > 12 ? `${id.slice(0, 8)}…` : id);
