// Poll the requests that wait for a second person, and for administrators the enrolments of staff, once for all parts
// of the page that show them. The server says which of them the user may decide.

import { get } from "../api/client.ts";
import type { EnrolmentView, RequestView } from "../api/schema.d.ts";
import { tableTitle } from "../texts/tables.ts";
import { t } from "../texts/texts.ts";
import { announce } from "./announcer.svelte.ts";
import { poll } from "./poll.ts";
import { has, session } from "./session.svelte.ts";

interface Waiting {
  requests: RequestView[];
  enrolments: EnrolmentView[];
  known: boolean;
}
export const waiting = $state<Waiting>({ requests: [], enrolments: [], known: false });

const SECONDS = 4;
let watchers = 0;
let stop: (() => void) | undefined;

/** Poll the requests until the returned function is called; several watchers share one poll. */
export function watchRequests(): () => void {
  if (!watchers++) stop = poll(lookIfVisible, SECONDS);
  return () => {
    if (--watchers) return;
    stop?.();
    waiting.requests = waiting.enrolments = [];
    waiting.known = false;
  };
}

const lookIfVisible = async (): Promise<void> => {
  if (document.visibilityState !== "visible" && waiting.known) return;
  if (has("administrator")) waiting.enrolments = await get("/api/enrolments", { background: true });
  if (!has("administrator") || isApprover()) await lookAtRequests();
  waiting.known = true;
};

export async function lookAtRequests(): Promise<void> {
  const before = new Set(waiting.requests.map((each) => each.id));
  const requests = await get("/api/requests", { background: true });
  const fresh = requests.filter((each) => !before.has(each.id) && each.may_decide);
  if (waiting.known && fresh.length)
    announce(t("common.request-arrived", { name: fresh[0]!.name, table: tableTitle(fresh[0]!.table) }));
  waiting.requests = requests;
  waiting.known = true;
}

/** Whether anything can wait for the user: a request or an enrolment. */
export const mayDecideAny = (): boolean => has("administrator") || isApprover();

/** Whether the server would list requests for the user to decide: not for staff without a table now. */
const isApprover = (): boolean =>
  has("game-supervisor", "supervisor", "pit-manager", "shift-manager") && session.who?.tables?.length !== 0;

/** Return the table of a request; empty if it concerns a player's account. */
export const tableOf = (request: RequestView): string => (accountOf(request.table) === undefined ? request.table : "");

/** Return the player whose account a request concerns, or undefined if it concerns a table. */
export function accountOf(place: string): string | undefined {
  return place.startsWith("account/") ? place.slice("account/".length) : undefined;
}
