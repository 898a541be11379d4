// Follow the chips of a table by denomination. A table that deals in amounts has none, and is asked only when it opens
// or closes.

import { getContext, setContext } from "svelte";
import { get, Trouble } from "../api/client.ts";
import type { RackView } from "../api/schema.d.ts";

const AGAIN_MS = 500;
const KEY = Symbol("rack");

export class TableRack {
  readonly table: string;
  now = $state.raw<RackView | null>(null);
  private wanted = -1;
  /** The version at which the table was seen to open or close last. */
  private since = $state(0);
  private wasOpen: boolean | null = null;
  private loading = false;
  private stopped = false;

  constructor(table: string) {
    this.table = table;
  }

  /** Whether the table deals in chips now. */
  get inChips(): boolean {
    return this.now?.deals_in === "chips";
  }

  /** Whether the table deals in chips, or did when it was open last. */
  get hasCounts(): boolean {
    return !!this.now && (this.inChips || this.now.slips > 0);
  }

  /** Whether the chips have been loaded since the table opened or closed last, which changes all of them. */
  get isKnown(): boolean {
    return !!this.now && this.now.version >= this.since;
  }

  /** Load the chips of a version of the table, unless it deals in amounts as before. */
  follow(version: number, open: boolean): void {
    if (this.now && !this.hasCounts && open === this.wasOpen) return;
    if (open !== this.wasOpen) this.since = version;
    this.wasOpen = open;
    this.wanted = Math.max(this.wanted, version);
    void this.load();
  }

  stop(): void {
    this.stopped = true;
  }

  /** Load one answer at a time, until it is as new as the latest version that was wanted. */
  private async load(): Promise<void> {
    if (this.loading) return;
    this.loading = true;
    while (!this.stopped && (this.now?.version ?? -1) < this.wanted) {
      try {
        this.now = await get("/api/tables/{table}/rack", { at: { table: this.table }, background: true });
      } catch (error) {
        if (error instanceof Trouble && !error.isUnsettled && error.status !== 429) break;
        await new Promise((done) => setTimeout(done, AGAIN_MS));
      }
    }
    this.loading = false;
  }
}

/** Share a table's rack with the components within; call it while a component is initialised. */
export const provideRack = (rack: TableRack): TableRack => setContext(KEY, rack);

export const providedRack = (): TableRack => getContext(KEY);
