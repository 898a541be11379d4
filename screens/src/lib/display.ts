// Sign in a results board on a wall with its display token; it has no user.

import { get, post, Trouble } from "../api/client.ts";
import type { DisplayView } from "../api/schema.d.ts";
import { parts } from "./router.svelte.ts";

/** Store the display token of the address in the board's cookie, and remove it from the address. */
export async function takeToken(): Promise<void> {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (!token) return;
  try {
    await post("/api/displays/session", { token });
  } catch (error) {
    if (!isRefused(error)) throw error;
  }
  history.replaceState(null, "", location.pathname + location.search);
}

/** Return the display that is signed in for the board at a path, or null. */
export async function displayAt(path: string): Promise<DisplayView | null> {
  const [page, table] = parts(path);
  if (page !== "board" || table === undefined) return null;
  try {
    return await get("/api/tables/{table}/display", { at: { table }, background: true });
  } catch (error) {
    if (isRefused(error)) return null;
    throw error;
  }
}

const isRefused = (error: unknown): boolean => error instanceof Trouble && [401, 403, 404, 422].includes(error.status);
