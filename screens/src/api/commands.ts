// Commands: sent under a key of their own until it is known what became of them. A command that the
// network swallowed is sent again under the same key, which does it once and answers it again.

import { post, Trouble } from "./client.ts";
import type { Body } from "./client.ts";
import type { Done } from "./schema.d.ts";

export type TableCommand = Body<"/api/tables/{table}/commands", "post">;
export type AccountCommand = Body<"/api/accounts/{player}/commands", "post">;

const WAITS_MS = [300, 700, 1500, 3000, 5000];

/** Send a command to a table; settles when the house has said yes or no, and not before. */
export function command(table: string, what: TableCommand, key = newKey()): Promise<Done> {
  return settled((headers) => post("/api/tables/{table}/commands", what, { at: { table }, headers }), key);
}

/** Send a command about a player's account. */
export function accountCommand(player: string, what: AccountCommand, key = newKey()): Promise<Done> {
  return settled((headers) => post("/api/accounts/{player}/commands", what, { at: { player }, headers }), key);
}

async function settled(send: (headers: Record<string, string>) => Promise<unknown>, key: string): Promise<Done> {
  for (let attempt = 0; ; attempt++) {
    try {
      return (await send({ "Idempotency-Key": key })) as Done;
    } catch (error) {
      if (!(error instanceof Trouble) || !mayHelpAgain(error)) throw error;
      await pause(WAITS_MS[Math.min(attempt, WAITS_MS.length - 1)]!);
    }
  }
}

/** Whether asking again settles it. A suspended house says no for as long as people need. */
function mayHelpAgain(trouble: Trouble): boolean {
  if (trouble.code === "house/suspended" || trouble.code === "house/damaged") return false;
  return trouble.isUnsettled || trouble.status === 429;
}

export function newKey(): string {
  return crypto.randomUUID();
}

const pause = (ms: number) => new Promise((done) => setTimeout(done, ms));
