// Create a table step by step: set it up, enter its equipment, assign its staff, open it. Every step looks first at
// what the house has already, so that it can be repeated after a failure or on a reloaded page.

import { get, post, Trouble } from "../../../api/client.ts";
import { ApprovalNeeded, command } from "../../../api/commands.ts";
import type { TableCommand } from "../../../api/commands.ts";
import type { RequestView } from "../../../api/schema.d.ts";
import { houseTime } from "../../../lib/clock.svelte.ts";
import { session } from "../../../lib/session.svelte.ts";
import { t } from "../../../texts/texts.ts";
import { openingOf } from "../shared/terms.ts";
import { equipping, establishing, forget, isCounted } from "./newTable.ts";
import type { NewTable } from "./newTable.ts";

export type Step = "establish" | "equipment" | "staff" | "open";
/** `approval` waits for a second person. */
type Progress = "ahead" | "busy" | "approval" | "done" | "failed";

const SECONDS = 1.5;

export class Setup {
  progress = $state<Record<Step, Progress>>({ establish: "ahead", equipment: "ahead", staff: "ahead", open: "ahead" });
  trouble = $state<unknown>(null);
  /** The request that waits for a second person. */
  request = $state.raw<RequestView | null>(null);
  readonly details: NewTable;
  readonly steps: readonly Step[];
  private over = false;

  constructor(details: NewTable) {
    this.details = details;
    this.steps = ["establish", "equipment", "staff", ...(details.opens ? (["open"] as const) : [])];
  }

  get isDone(): boolean {
    return this.steps.every((step) => this.progress[step] === "done");
  }

  /** Take all steps that are not done yet; stop at the first failure. */
  async run(): Promise<void> {
    this.trouble = null;
    for (const step of this.steps) {
      if (this.progress[step] === "done") continue;
      this.progress[step] = "busy";
      try {
        await this.take(step);
      } catch (trouble) {
        this.trouble = trouble;
        this.progress[step] = "failed";
        return;
      }
      if (this.over) return;
      this.progress[step] = "done";
    }
    forget();
  }

  /** Stop looking whether a second person has decided. */
  stop(): void {
    this.over = true;
  }

  async withdraw(): Promise<void> {
    if (this.request) await post("/api/requests/{request}/withdraw", undefined, { at: { request: this.request.id } });
  }

  private take(step: Step): Promise<void> {
    return { establish: this.establish, equipment: this.equip, staff: this.assign, open: this.open }[step].call(this);
  }

  private async establish(): Promise<void> {
    const found = (await get("/api/tables")).find((each) => each.table === this.details.table);
    if (!found) await this.sendOrAsk("establish", establishing(this.details));
    else if (found.game !== this.details.game)
      throw new Error(t("pit.create.taken-by", { table: found.table, game: found.title }));
  }

  private async equip(): Promise<void> {
    const { table } = this.details;
    const commands = equipping(this.details);
    if (!commands.length) return;
    const register = await get("/api/tables/{table}/equipment", { at: { table } });
    const known = new Map(register.pieces.map((each) => [each.piece, each]));
    for (const { piece, command: what } of commands) {
      const isDone =
        what.type === "OmitEquipment"
          ? register.omitted.includes(piece)
          : what.type === "InstallDice"
            ? known.get(piece)?.in_use
            : known.has(piece);
      if (!isDone) await command(table, what);
    }
  }

  private async assign(): Promise<void> {
    const { table, staff, hours } = this.details;
    if (!staff.length) return;
    const assigned = await get("/api/assignments");
    const starts = Math.round(houseTime());
    for (const { account, role } of staff) {
      if (assigned.some((each) => each.account === account && each.role === role && each.table === table)) continue;
      await post("/api/assignments", { account, role, starts, until: starts + hours * 3_600_000_000, table });
    }
  }

  private async open(): Promise<void> {
    const { table, terms, rack } = this.details;
    const view = await get("/api/tables/{table}", { at: { table } });
    const counted = isCounted(this.details) ? rack : null;
    if (!view.open) await this.sendOrAsk("open", openingOf(table, session.house?.currency ?? "", terms, counted));
  }

  /** Send a command; if it needs a second person, ask for one and wait for the decision. */
  private async sendOrAsk(step: Step, what: TableCommand): Promise<void> {
    const { table, reason } = this.details;
    const waiting = (await get("/api/requests", { query: { table } })).find(
      (each) => each.account === session.who?.account && each.command["type"] === what.type,
    );
    try {
      this.request = waiting ?? null;
      if (!waiting) await command(table, what);
    } catch (error) {
      if (!(error instanceof ApprovalNeeded)) throw error;
      this.request = (await error.ask(reason)) as RequestView;
    }
    if (!this.request) return;
    this.progress[step] = "approval";
    try {
      await this.decided();
    } finally {
      this.request = null;
    }
  }

  private async decided(): Promise<void> {
    while (!this.over && this.request?.state === "pending") {
      await new Promise((done) => setTimeout(done, SECONDS * 1000));
      if (this.over) return;
      try {
        const at = { request: this.request.id };
        this.request = await get("/api/requests/{request}", { at, background: true });
      } catch (error) {
        if (!(error instanceof Trouble && error.isUnsettled)) throw error;
      }
    }
    const { state, note } = this.request!;
    if (this.over || state === "approved") return;
    const text = t(`pit.create.ended.${state as "declined"}`);
    throw new Error(note ? `${text} ${t("pit.create.note", { note })}` : text);
  }
}
