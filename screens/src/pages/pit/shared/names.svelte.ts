// Resolve ids to names and cache them. The log has only ids; names are stored separately, for users who may see
// them.

import { get } from "../../../api/client.ts";
import { has } from "../../../lib/session.svelte.ts";

const names = $state<Record<string, string>>({});
const asked = new Set<string>();
let everybody: Promise<void> | null = null;

/** Return a player's name, or the beginning of their id until it is loaded. */
export function playerName(id: string): string {
  if (!asked.has(id)) {
    asked.add(id);
    queueMicrotask(() => void learnPlayer(id));
  }
  return names[id] ?? short(id);
}

/** Return the name of a member of staff, if the user may see it, or the beginning of their id. */
export function staffName(id: string): string {
  if (has("pit-manager", "shift-manager", "auditor", "administrator")) everybody ??= learnStaff();
  return names[id] ?? short(id);
}

export function learned(id: string, name: string): void {
  names[id] = name;
}

async function learnPlayer(id: string): Promise<void> {
  try {
    names[id] = (await get("/api/accounts/{player}/person", { at: { player: id }, background: true })).name;
  } catch {
    // The player has no name.
  }
}

async function learnStaff(): Promise<void> {
  try {
    for (const each of await get("/api/people", { background: true })) names[each.id] ??= each.name;
  } catch {
    everybody = null;
  }
}

const short = (id: string): string => (id.length > 12 ? `${id.slice(0, 8)}…` : id);
