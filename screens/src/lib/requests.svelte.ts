// Poll what waits for the user, once for all parts of the page that show it: requests for a second person, for
// administrators the enrolments of staff, and variances that the user has to acknowledge. The server says which requests
// the user may decide.

import { get } from "../api/client.ts";
import type { EnrolmentView, RequestView, VarianceNotice } from "../api/schema.d.ts";
import { tableTitle } from "../texts/tables.ts";
import { t } from "../texts/texts.ts";
import { announce } from "./announcer.svelte.ts";
import { poll } from "./poll.ts";
import { SUPERVISORS } from "./roles.ts";
import { has, session } from "./session.svelte.ts";

interface Waiting {
  requests: RequestView[];
  enrolments: EnrolmentView[];
  variances: VarianceNotice[];
}
type List = keyof Waiting;
export const waiting = $state<Waiting>({ requests: [], enrolments: [], variances: [] });

const SECONDS = 4;
/** The lists that have been loaded; what comes later is announced. */
const known = new Set<List>();
/** The number of requests for each list; only the answer to the latest one counts, so that an old one undoes nothing. */
const asked: Record<List, number> = { requests: 0, enrolments: 0, variances: 0 };
let watchers = 0;
let stop: (() => void) | undefined;

/** Poll the requests until the returned function is called; several watchers share one poll. */
export function watchRequests(): () => void {
  if (!watchers++) stop = poll(lookIfVisible, SECONDS);
  return () => {
    if (--watchers) return;
    stop?.();
    waiting.requests = waiting.enrolments = waiting.variances = [];
    known.clear();
    for (const list of Object.keys(asked) as List[]) asked[list]++;
  };
}

/** Load each list for itself: one that fails is loaded again with the next poll. */
const lookIfVisible = async (): Promise<void> => {
  if (document.visibilityState !== "visible" && known.size) return;
  await Promise.allSettled([
    has("administrator") && lookAtEnrolments(),
    isInformed() && lookAtVariances(),
    (!has("administrator") || isApprover()) && lookAtRequests(),
  ]);
};

const lookAtEnrolments = (): Promise<void> => load("enrolments", () => get("/api/enrolments", { background: true }));

export const lookAtRequests = (): Promise<void> =>
  load(
    "requests",
    () => get("/api/requests", { background: true }),
    (requests) => {
      const before = new Set(waiting.requests.map((each) => each.id));
      const fresh = requests.find((each) => !before.has(each.id) && each.may_decide);
      if (fresh) announce(t("common.request-arrived", { name: fresh.name, table: tableTitle(fresh.table) }));
    },
  );

export const lookAtVariances = (): Promise<void> =>
  load(
    "variances",
    () => get("/api/variances", { background: true }),
    (variances) => {
      const before = new Set(waiting.variances.map((each) => `${each.table} ${each.slip}`));
      const fresh = variances.find((each) => !before.has(`${each.table} ${each.slip}`));
      if (fresh) announce(t("common.variance-arrived", { slip: fresh.slip, table: tableTitle(fresh.table) }));
    },
  );

/** Load a list, and announce what is new in it unless it is the first one. */
async function load<L extends List>(
  list: L,
  request: () => Promise<Waiting[L]>,
  announceNew?: (loaded: Waiting[L]) => void,
): Promise<void> {
  const mine = ++asked[list];
  const loaded = await request();
  if (mine !== asked[list]) return;
  if (known.has(list)) announceNew?.(loaded);
  waiting[list] = loaded as Waiting[L];
  known.add(list);
}

/** Whether the house may inform the user of variances. */
const isInformed = (): boolean => has(...SUPERVISORS);

/** Whether anything can wait for the user: a request or an enrolment. */
export const mayDecideAny = (): boolean => has("administrator") || isApprover();

/** Whether the server would list requests for the user to decide: not for staff without a table now. */
const isApprover = (): boolean => has("game-supervisor", ...SUPERVISORS) && session.who?.tables?.length !== 0;

/** Return the table of a request; empty if it concerns a player's account. */
export const tableOf = (request: RequestView): string => (accountOf(request.table) === undefined ? request.table : "");

/** Return the player whose account a request concerns, or undefined if it concerns a table. */
export function accountOf(place: string): string | undefined {
  return place.startsWith("account/") ? place.slice("account/".length) : undefined;
}
