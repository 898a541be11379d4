// Load who the players are, and keep it: at each table with their seats, and of others one by one. The log has only
// ids; the server tells names to users who may see them.

import { SvelteMap } from "svelte/reactivity";
import { get, Trouble } from "../api/client.ts";
import type { PlayerLine } from "../api/schema.d.ts";
import { distinctNames, nameOf, withSeat } from "./people.ts";

const AGAIN_MS = 1000;

/** The players of a table, with distinct names and their seats. */
export class TablePeople {
  readonly table: string;
  lines = $state.raw<readonly PlayerLine[]>([]);
  /** The guest that a player without an account would be. */
  nextGuest = $state.raw<PlayerLine | null>(null);
  private readonly byId = $derived(new Map(this.lines.map((line) => [line.player, line])));
  private readonly names = $derived(distinctNames(this.lines));
  private ready = $state(false);
  private wanted = "";
  private loaded = "";
  private loading = false;

  constructor(table: string) {
    this.table = table;
  }

  /** Load the players again if others have a seat or a debt than when they were last loaded. */
  keep(players: readonly string[]): void {
    this.wanted = [...players].sort().join(" ") || "nobody";
    if (this.wanted !== this.loaded && !this.loading) void this.load();
  }

  line(player: string): PlayerLine | undefined {
    const found = this.byId.get(player);
    if (found || this.ready) return found ?? lineOf(player);
    if (!this.wanted) queueMicrotask(() => this.keep([]));
    return undefined;
  }

  /** Return a player's name, which no other player of the table has. */
  name(player: string): string {
    const line = this.line(player);
    return this.names.get(player) ?? (line ? nameOf(line) : "…");
  }

  /** Return a player's seat and name. */
  label(player: string): string {
    const line = this.line(player);
    return line ? withSeat(line, this.name(player)) : "…";
  }

  private async load(): Promise<void> {
    this.loading = true;
    while (this.loaded !== this.wanted) {
      const wanted = this.wanted;
      try {
        const found = await get("/api/tables/{table}/players", { at: { table: this.table }, background: true });
        this.lines = found.players;
        this.nextGuest = found.next_guest;
        this.loaded = wanted;
        this.ready = true;
      } catch (error) {
        if (error instanceof Trouble && !error.isUnsettled && error.status !== 429) break;
        await new Promise((done) => setTimeout(done, AGAIN_MS));
      }
    }
    this.loading = false;
  }
}

const tables = new Map<string, TablePeople>();

/**
 * Return the players of a table, shared by all parts of the page. They are created outside of the caller: a derived
 * value does not depend on state that it has created itself, and would keep the names of the first moment.
 */
export function peopleAt(table: string): TablePeople {
  if (!tables.has(table)) $effect.root(() => void tables.set(table, new TablePeople(table)));
  return tables.get(table)!;
}

const others = new SvelteMap<string, PlayerLine>();
const asked = new Set<string>();

/** Return a player without regard to a table; undefined until they are loaded. */
export function lineOf(player: string): PlayerLine | undefined {
  if (player && !asked.has(player)) {
    asked.add(player);
    queueMicrotask(() => void ask(player));
  }
  return others.get(player);
}

/** Ask again who a player is, after their name was changed or erased. */
export async function ask(player: string): Promise<void> {
  try {
    others.set(player, await get("/api/players/{player}", { at: { player }, background: true }));
  } catch {
    asked.delete(player); // the next look asks again
  }
}
