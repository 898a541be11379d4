// Hold the equipment of a table for the dealer's page: the register as the server has it, loaded again after each
// event about it, and the results of the test that is being run.

import { get, Trouble } from "../../api/client.ts";
import type { EquipmentView, Event } from "../../api/schema.d.ts";

type Trial = Extract<Event, { type: "TrialEntered" }>;

const AGAIN_MS = 1000;
const CHANGES: readonly Event["type"][] = [
  "TableOpened",
  "TableClosed",
  "TableReleased",
  "CheckPassed",
  "CheckFailed",
  "PieceRegistered",
  "EquipmentOmitted",
  "PieceReplaced",
  "PieceFailed",
  "PieceReleased",
  "DiceInstalled",
  "DiceInspected",
  "DiceRemoved",
  "DiceDestroyed",
  "TestStarted",
  "TrialEntered",
  "TestEnded",
];

export class TableEquipment {
  private readonly table: string;
  now = $state.raw<EquipmentView | null>(null);
  /** The results that were entered in this test, each with its faces in order: "126". */
  tried = $state.raw<ReadonlySet<string>>(new Set());
  /** The last result of this test, with its faults. */
  trial = $state.raw<Trial | null>(null);
  private wanted = 0;
  private loading = false;

  constructor(table: string) {
    this.table = table;
  }

  hear(event: Event): void {
    if (event.type === "TestStarted" || event.type === "TestEnded") {
      this.tried = new Set();
      this.trial = null;
      if (this.now) this.now = { ...this.now, test: event.type === "TestStarted" ? event.test : 0 };
    } else if (event.type === "TrialEntered") {
      this.tried = new Set([...this.tried, [...event.dice].sort().join("")]);
      this.trial = event;
    }
    if (CHANGES.includes(event.type)) void this.load();
  }

  /** Load the register, one request at a time; a change during a request has it loaded once more. */
  async load(): Promise<void> {
    this.wanted++;
    if (this.loading) return;
    this.loading = true;
    for (let loaded = 0; loaded < this.wanted;) {
      const wanted = this.wanted;
      try {
        const now = await get("/api/tables/{table}/equipment", { at: { table: this.table }, background: true });
        const heard = now.test === this.now?.test ? this.tried : [];
        this.tried = new Set([...heard, ...now.tried.map((roll) => roll.join(""))]);
        this.now = now;
        loaded = wanted;
      } catch (error) {
        if (error instanceof Trouble && !error.isUnsettled && error.status !== 429) break;
        await new Promise((done) => setTimeout(done, AGAIN_MS));
      }
    }
    this.wanted = 0;
    this.loading = false;
  }
}
