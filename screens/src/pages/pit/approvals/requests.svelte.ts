// Poll the requests that wait for a second person while the console is open.

import { get } from "../../../api/client.ts";
import type { RequestView } from "../../../api/schema.d.ts";
import { announce } from "../../../lib/announcer.svelte.ts";
import { session } from "../../../lib/session.svelte.ts";
import { poll } from "../shared/action.svelte.ts";
import { t } from "../../../texts/texts.ts";

export const waiting = $state<{ requests: RequestView[]; known: boolean }>({ requests: [], known: false });

const SECONDS = 3;

export function watchRequests(): () => void {
  return poll(lookAtRequests, SECONDS);
}

export async function lookAtRequests(): Promise<void> {
  const before = new Set(waiting.requests.map((each) => each.id));
  const requests = await get("/api/requests", { background: true });
  const fresh = requests.filter((each) => !before.has(each.id) && mayDecide(each));
  if (waiting.known && fresh.length)
    announce(t("pit.approvals.arrived", { name: fresh[0]!.name, table: fresh[0]!.table }));
  waiting.requests = requests;
  waiting.known = true;
}

/** Whether the user may decide on a request; nobody decides on their own. */
export function mayDecide(request: RequestView): boolean {
  const who = session.who;
  if (!who || request.account === who.account) return false;
  return who.roles.some((role) => (request.roles as string[]).includes(role) && worksAt(role, request.table));
}

/** Return the player whose account a request concerns, or undefined if it concerns a table. */
export function accountOf(place: string): string | undefined {
  return place.startsWith("account/") ? place.slice("account/".length) : undefined;
}

/** Whether a role of the user applies at a table; managers work on the whole floor. */
function worksAt(role: string, table: string): boolean {
  if (role !== "supervisor") return true;
  const tables = session.who?.tables;
  if (tables === null || tables === undefined) return true;
  return accountOf(table) === undefined ? tables.includes(table) : tables.length > 0;
}
