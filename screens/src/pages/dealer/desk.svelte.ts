// What every part of the dealer's page shares: the table, the user's permissions there, and how commands are
// sent, one at a time in the order of the key presses.

import { get, post, Trouble } from "../../api/client.ts";
import { command } from "../../api/commands.ts";
import type { RequestedCommand, TableCommand } from "../../api/commands.ts";
import type { Event, RequestView, WorkingSheet } from "../../api/schema.d.ts";
import { bell, call } from "../../lib/announcer.svelte.ts";
import { session } from "../../lib/session.svelte.ts";
import { Following } from "../../table/following.svelte.ts";
import { SUPERVISORS } from "./procedure.ts";
import type { Roles } from "./procedure.ts";
import { t } from "../../texts/texts.ts";

const POSTED = ["dealer", "supervisor"];
const POLL_MS = 2000;

export interface Moving {
  how: "MoveChips" | "PutBack";
  player: string;
  spot: string;
  amount: number;
}

export interface Notice {
  id: number;
  event: Event;
}

export class Desk {
  readonly table: string;
  readonly following: Following;
  trouble = $state.raw<unknown>(null);
  /** How many acts are on their way; the next button waits for them. */
  waiting = $state(0);
  /** The version up to which the screen has to come before acts are offered again. */
  private upTo = $state(0);
  sheet = $state.raw<WorkingSheet | null>(null);
  /** What waits for a second person at this table, and what became of one's own. */
  requests = $state.raw<RequestView[]>([]);
  decided = $state.raw<RequestView[]>([]);
  /** The player whose chips are worked with, and the chip that a tap on the layout puts down. */
  player = $state("");
  chip = $state(0);
  /** Chips that were found elsewhere; the next tap on the layout says where. */
  moving = $state.raw<Moving | null>(null);
  notices = $state.raw<Notice[]>([]);
  private sheetAt = -1;
  private loading = false;
  private noticed = 0;
  private queue: Promise<unknown> = Promise.resolve();
  private stopped = false;

  constructor(table: string) {
    this.table = table;
    this.following = new Following(table);
  }

  start(): () => void {
    const stop = this.following.start();
    this.following.onEvent((event) => this.notice(event));
    const poll = setInterval(() => void this.loadRequests(), POLL_MS);
    void this.loadRequests();
    return () => {
      this.stopped = true;
      clearInterval(poll);
      stop();
    };
  }

  get view() {
    return this.following.view;
  }

  get game() {
    return this.following.game;
  }

  get currency(): string {
    return this.view?.currency || session.house?.currency || "";
  }

  /** One's roles at this table; the house tells staff its float, and nobody else. */
  get roles(): Roles {
    const who = session.who;
    if (!who || !this.view || this.view.float_amount === null) return [];
    return who.roles.filter((role) => !POSTED.includes(role) || who.tables === null || who.tables.includes(this.table));
  }

  get supervises(): boolean {
    return this.roles.some((role) => SUPERVISORS.includes(role));
  }

  /** Whether something can be done now: the house is heard, and nothing is on its way. */
  get ready(): boolean {
    return this.heard && this.waiting === 0 && (this.view?.version ?? 0) >= this.upTo;
  }

  /** Whether keys may be pressed: they queue, so only the house has to be heard. */
  get heard(): boolean {
    return this.following.connected && !this.following.suspended;
  }

  /** Do something at the table; answers whether it was done. */
  send(what: TableCommand): Promise<boolean> {
    return this.act(async () => {
      const done = await command(this.table, what);
      this.upTo = Math.max(this.upTo, done.version);
    });
  }

  /** Ask for something that takes two people. */
  ask(what: RequestedCommand, reason: string): Promise<boolean> {
    return this.act(async () => {
      const opened = await post(
        "/api/tables/{table}/requests",
        { command: what, reason },
        { at: { table: this.table } },
      );
      this.requests = [...this.requests, opened];
    });
  }

  /** Decide on somebody else's request, or take one's own back. */
  decide(request: RequestView, how: "approve" | "decline" | "withdraw"): Promise<boolean> {
    const at = { request: request.id };
    return this.act(async () => {
      if (how === "approve") await post("/api/requests/{request}/approve", { note: "" }, { at });
      else if (how === "decline") await post("/api/requests/{request}/decline", { note: "" }, { at });
      else await post("/api/requests/{request}/withdraw", undefined, { at });
      this.requests = this.requests.filter((each) => each.id !== request.id);
    });
  }

  forget(request: RequestView): void {
    this.decided = this.decided.filter((each) => each.id !== request.id);
  }

  /** Say what the rules have said at this point, and ring where they have it rung. */
  say(words: string | undefined, ring = false): void {
    if (ring) bell();
    if (words) call(words);
  }

  private act(doing: () => Promise<void>): Promise<boolean> {
    this.waiting++;
    const mine = this.queue.then(async () => {
      try {
        await doing();
        this.trouble = null;
        return true;
      } catch (error) {
        this.trouble = error;
        return false;
      } finally {
        this.waiting--;
      }
    });
    this.queue = mine;
    return mine;
  }

  /** Ask for the working sheet of a version, one at a time; the latest wins. */
  async loadSheet(version: number): Promise<void> {
    this.sheetAt = Math.max(this.sheetAt, version);
    if (this.loading) return;
    this.loading = true;
    while (!this.stopped && (this.sheet?.version ?? -1) < this.sheetAt) {
      try {
        this.sheet = await get("/api/tables/{table}/sheet", { at: { table: this.table }, background: true });
      } catch (error) {
        if (error instanceof Trouble && !error.isUnsettled && error.status !== 429) break;
        await new Promise((done) => setTimeout(done, 500));
      }
    }
    this.loading = false;
  }

  /** What a player is called here: people at a table go by their seats. */
  name(player: string): string {
    const at = Object.keys(this.view?.seats ?? {}).indexOf(player);
    return at < 0 ? player.slice(0, 8) : t("dealer.general.seat", { number: at + 1 });
  }

  nextPlayer(): void {
    const players = Object.keys(this.view?.seats ?? {});
    this.player = players[(players.indexOf(this.player) + 1) % players.length] ?? "";
  }

  /** Keep what has to be read: void rounds, reversals, and call bets to be put down. */
  private notice(event: Event): void {
    const kept =
      event.type === "RoundVoided" ||
      event.type === "RoundsReversed" ||
      (event.type === "BetPlaced" && event.manner === "call");
    if (kept) this.notices = [...this.notices, { id: this.noticed++, event }].slice(-4);
  }

  read(id: number): void {
    this.notices = this.notices.filter((each) => each.id !== id);
  }

  private async loadRequests(): Promise<void> {
    if (!this.roles.length || this.stopped) return;
    try {
      const pending = await get("/api/requests", { query: { table: this.table }, background: true });
      await this.learn(this.requests.filter((old) => isMine(old) && !pending.some((each) => each.id === old.id)));
      this.requests = pending;
    } catch {
      // it is asked again soon
    }
  }

  /** Learn what became of one's own requests that no longer wait. */
  private async learn(gone: RequestView[]): Promise<void> {
    for (const each of gone) {
      const now = await get("/api/requests/{request}", { at: { request: each.id }, background: true });
      if (now.state !== "withdrawn") this.decided = [...this.decided.filter((old) => old.id !== now.id), now].slice(-3);
    }
  }
}

export const isMine = (request: RequestView): boolean => request.account === session.who?.account;
