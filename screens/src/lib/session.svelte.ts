// Who is at this screen, and what his session is good for.

import { get, onTurnedAway, remove, Trouble } from "../api/client.ts";
import type { HouseView, Who } from "../api/schema.d.ts";

export const session = $state<{ who: Who | null; house: HouseView | null; loaded: boolean; away: boolean }>({
  who: null,
  house: null,
  loaded: false,
  away: false,
});

onTurnedAway.call = (trouble) => {
  if (trouble.status === 401) session.who = null;
  else void refresh();
};

/** Ask who is signed in; the house says nobody by refusing to tell. */
export async function refresh(): Promise<void> {
  try {
    session.house = await get("/api/house", { background: true });
    session.who = await get("/api/session", { background: true });
    session.away = false;
  } catch (error) {
    if (error instanceof Trouble && error.status === 401) session.who = null;
    else session.away = true;
  }
  session.loaded = true;
}

export async function signOut(): Promise<void> {
  await remove("/api/session");
  session.who = null;
}

export const STAFF = ["dealer", "supervisor", "pit-manager", "shift-manager"] as const;

export function has(...roles: string[]): boolean {
  return session.who?.roles.some((role) => roles.includes(role)) ?? false;
}
