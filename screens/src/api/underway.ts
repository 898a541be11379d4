// Commands whose outcome nobody knows yet, kept for this tab: a page that is loaded anew can still
// tell what became of them.

import { get, Trouble } from "./client.ts";
import type { CommandStatusView } from "./schema.d.ts";

export interface Underway {
  readonly key: string;
  /** Whose command it is: keys are each account's own. */
  readonly account: string;
  readonly table: string;
  readonly what: unknown;
}

const PLACE = "threedice.underway";
const MOST = 200;

export function remember(sent: Underway): void {
  write([...read().filter((each) => each.key !== sent.key), sent].slice(-MOST));
}

export function forget(key: string): void {
  const kept = read().filter((each) => each.key !== key);
  if (kept.length !== read().length) write(kept);
}

/** What an earlier page of this tab left behind at a table, with what became of each. */
export async function leftBehind(account: string, table: string): Promise<(Underway & { outcome: CommandStatusView })[]> {
  const told = [];
  for (const each of read().filter((one) => one.account === account && one.table === table && !here.has(one.key))) {
    told.push({ ...each, outcome: await outcomeOf(each.key) });
    forget(each.key);
  }
  return told;
}

/** Ask until the house says what became of a command: it was accepted, or it was not. */
export async function outcomeOf(key: string): Promise<CommandStatusView> {
  for (;;) {
    try {
      return await get("/api/commands/{key}", { at: { key }, background: true });
    } catch (error) {
      if (!(error instanceof Trouble) || !error.isUnsettled) throw error;
      await new Promise((done) => setTimeout(done, 1000));
    }
  }
}

/** The keys that this very page is waiting for. */
export const here = new Set<string>();

function read(): Underway[] {
  try {
    const kept: unknown = JSON.parse(sessionStorage.getItem(PLACE) ?? "[]");
    return Array.isArray(kept) ? (kept as Underway[]) : [];
  } catch {
    return [];
  }
}

function write(kept: readonly Underway[]): void {
  try {
    sessionStorage.setItem(PLACE, JSON.stringify(kept));
  } catch {
    // a tab that may keep nothing tells nothing after it was loaded anew
  }
}
