// Hold the session of this screen and the roles of its user.

import { get, onTurnedAway, remove, Trouble } from "../api/client.ts";
import type { DisplayView, HouseView, SessionView } from "../api/schema.d.ts";
import { displayAt, takeToken } from "./display.ts";
import { SUPERVISORS } from "./roles.ts";

interface Here {
  who: SessionView | null;
  /** The results board that is signed in at this screen, which then has no user. */
  display: DisplayView | null;
  house: HouseView | null;
  loaded: boolean;
  away: boolean;
  /** Whether the session ended without the user signing out. */
  ended: boolean;
}

export const session = $state<Here>({
  who: null,
  display: null,
  house: null,
  loaded: false,
  away: false,
  ended: false,
});

onTurnedAway.call = (trouble) => {
  if (WRONG.has(trouble.code)) return;
  if (trouble.status === 401) ended();
  else void refresh();
};

/** Refusals of a typed password or code; they do not end the session. */
const WRONG = new Set(["sign-in/credentials", "sign-in/code", "sign-in/code-needed", "sign-in/expired"]);

function ended(): void {
  session.ended ||= session.who !== null;
  session.who = null;
}

/** End the user's session, and check for the session of a results board. */
async function nobody(): Promise<void> {
  ended();
  try {
    session.display = await displayAt(location.pathname);
    session.away = false;
  } catch {
    session.away = true;
  }
}

/** Load the session; a 401 means that there is none. */
export async function refresh(): Promise<void> {
  try {
    session.house = await get("/api/house", { background: true });
    await takeToken();
    session.who = await get("/api/session", { background: true });
    session.display = null;
    session.away = session.ended = false;
  } catch (error) {
    if (error instanceof Trouble && error.status === 401) await nobody();
    else session.away = true;
  }
  session.loaded = true;
}

export async function signOut(): Promise<void> {
  await remove("/api/session");
  session.who = null;
}

export const STAFF: readonly string[] = ["dealer", "game-supervisor", ...SUPERVISORS];

export function has(...roles: string[]): boolean {
  return session.who?.roles.some((role) => roles.includes(role)) ?? false;
}
