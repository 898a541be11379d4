// Poll what waits for the user, once for all parts of the page that show it: requests for a second person, for
// administrators the enrolments of staff, and variances that the user has to acknowledge. The server says which requests
// the user may decide.

import { get } from "../api/client.ts";
import type { EnrolmentView, RequestView, VarianceNotice } from "../api/schema.d.ts";
import { tableTitle } from "../texts/tables.ts";
import { t } from "../texts/texts.ts";
import { announce } from "./announcer.svelte.ts";
import { poll } from "./poll.ts";
import { has, session } from "./session.svelte.ts";

interface Waiting {
  requests: RequestView[];
  enrolments: EnrolmentView[];
  variances: VarianceNotice[];
  known: boolean;
}
export const waiting = $state<Waiting>({ requests: [], enrolments: [], variances: [], known: false });

const SECONDS = 4;
let watchers = 0;
let stop: (() => void) | undefined;

/** Poll the requests until the returned function is called; several watchers share one poll. */
export function watchRequests(): () => void {
  if (!watchers++) stop = poll(lookIfVisible, SECONDS);
  return () => {
    if (--watchers) return;
    stop?.();
    waiting.requests = waiting.enrolments = waiting.variances = [];
    waiting.known = false;
  };
}

const lookIfVisible = async (): Promise<void> => {
  if (document.visibilityState !== "visible" && waiting.known) return;
  if (has("administrator")) waiting.enrolments = await get("/api/enrolments", { background: true });
  if (isInformed()) await lookAtVariances();
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

export async function lookAtVariances(): Promise<void> {
  const before = new Set(waiting.variances.map((each) => `${each.table} ${each.slip}`));
  const variances = await get("/api/variances", { background: true });
  const fresh = variances.find((each) => !before.has(`${each.table} ${each.slip}`));
  if (waiting.known && fresh)
    announce(t("common.variance-arrived", { slip: fresh.slip, table: tableTitle(fresh.table) }));
  waiting.variances = variances;
}

/** Whether the house may inform the user of variances. */
const isInformed = (): boolean => has("supervisor", "pit-manager", "shift-manager");

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
