// Hold the state that all parts of the dealer's page share: the table, the user's roles there, and the queue that
// sends commands one at a time in the order of the key presses.

import { get, post, Trouble } from "../../api/client.ts";
import { command } from "../../api/commands.ts";
import type { RequestedCommand, TableCommand } from "../../api/commands.ts";
import type { Event, RequestView, TableView, WorkingSheet } from "../../api/schema.d.ts";
import { TableRack } from "../../chips/rack.svelte.ts";
import { bell, call } from "../../lib/announcer.svelte.ts";
import { peopleAt } from "../../lib/people.svelte.ts";
import type { TablePeople } from "../../lib/people.svelte.ts";
import { session } from "../../lib/session.svelte.ts";
import { Following } from "../../table/following.svelte.ts";
import { TableEquipment } from "./equipment.svelte.ts";
import { SUPERVISORS } from "../../lib/roles.ts";
import type { Roles } from "./procedure.ts";
import { announcementOf } from "../../texts/calls.ts";

const POSTED = ["dealer", "game-supervisor", "supervisor"];
const POLL_MS = 2000;

export interface Moving {
  how: "MoveChips" | "PutBack";
  player: string;
  spot: string;
  amount: number;
  /** Who moved chips that are put back, if no move was recorded. */
  moved_by?: "dealer" | "patron";
}

export interface Notice {
  id: number;
  event: Event;
  /** The round that was played when it happened. */
  round: number;
}

export class Desk {
  readonly table: string;
  readonly following: Following;
  readonly equipment: TableEquipment;
  readonly rack: TableRack;
  readonly people: TablePeople;
  trouble = $state.raw<unknown>(null);
  /** The number of pending commands; the next button waits for them. */
  waiting = $state(0);
  /** The version that the view must reach before commands are offered again. */
  private upTo = $state(0);
  sheet = $state.raw<WorkingSheet | null>(null);
  /** The table's pending requests, and the decisions on the user's own. */
  requests = $state.raw<RequestView[]>([]);
  decided = $state.raw<RequestView[]>([]);
  /** Whether the dealer goes on by the dice, leaving out the optional steps of terminal and lights. */
  byDice = $state(false);
  /** The selected player, and the chip that a tap on the layout places. */
  player = $state("");
  chip = $state(0);
  /** Whether bets on the layout are recorded as call bets instead of bets on behalf. */
  calling = $state(false);
  /** Chips that were found in another place; the next tap on the layout sets it. */
  moving = $state.raw<Moving | null>(null);
  /** The winning bet that is being paid, which is marked on the layout. */
  paying = $state.raw<{ spot: string; player: string } | null>(null);
  notices = $state.raw<Notice[]>([]);
  private sheetAt = -1;
  private loading = false;
  private noticed = 0;
  /** The cause for which the round was stopped and announced, so that its void is not announced again. */
  private announced = "";
  private queue: Promise<unknown> = Promise.resolve();
  private requestsLoaded: Promise<void> = Promise.resolve();
  private stopped = false;

  constructor(table: string) {
    this.table = table;
    this.following = new Following(table);
    this.equipment = new TableEquipment(table);
    this.rack = new TableRack(table);
    this.people = peopleAt(table);
  }

  start(): () => void {
    const stop = this.following.start();
    this.following.onEvent((event, _at, view) => {
      this.notice(event, view);
      this.equipment.hear(event);
    });
    void this.pollRequests();
    return () => {
      this.stopped = true;
      this.rack.stop();
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

  /** The user's roles at this table; the server shows the float to its staff only. */
  get roles(): Roles {
    const who = session.who;
    if (!who || !this.view || this.view.float_amount === null) return [];
    return who.roles.filter((role) => !POSTED.includes(role) || who.tables === null || who.tables.includes(this.table));
  }

  get supervises(): boolean {
    return this.roles.some((role) => SUPERVISORS.includes(role));
  }

  /** Whether commands can be sent now: connected, and none is pending. */
  get ready(): boolean {
    return this.heard && this.waiting === 0 && (this.view?.version ?? 0) >= this.upTo;
  }

  /** Whether keys are enabled: they queue, so they only need a connection. */
  get heard(): boolean {
    return this.following.connected && !this.following.suspended;
  }

  /** Send a command to the table; return whether it was accepted. */
  send(what: TableCommand): Promise<boolean> {
    return this.act(async () => {
      const done = await command(this.table, what);
      this.upTo = Math.max(this.upTo, done.version);
    });
  }

  /** Request a command that needs a second person's approval. */
  ask(what: RequestedCommand, reason: string): Promise<boolean> {
    return this.act(async () => {
      await post("/api/tables/{table}/requests", { command: what, reason }, { at: { table: this.table } });
      await this.loadRequests();
    });
  }

  /** Approve or decline a request, or withdraw the user's own. */
  decide(request: RequestView, how: "approve" | "decline" | "withdraw"): Promise<boolean> {
    const at = { request: request.id };
    return this.act(async () => {
      if (how === "approve") await post("/api/requests/{request}/approve", { note: "" }, { at });
      else if (how === "decline") await post("/api/requests/{request}/decline", { note: "" }, { at });
      else await post("/api/requests/{request}/withdraw", undefined, { at });
      await this.loadRequests();
    });
  }

  forget(request: RequestView): void {
    this.decided = this.decided.filter((each) => each.id !== request.id);
  }

  /** Speak the announcement of a step, and ring the bell if the rules require it. */
  say(words: string | undefined, ring = false): void {
    if (ring) bell();
    if (words) call(announcementOf(words));
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

  /** Load the working sheet for a version, one request at a time; the latest version wins. */
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

  /** Return a player's seat and name. */
  name(player: string): string {
    return this.people.label(player);
  }

  /** The players by seat; those whose seat is not known yet come last. */
  get players(): string[] {
    const seat = (player: string) => this.people.line(player)?.seat || Infinity;
    return Object.keys(this.view?.seats ?? {}).sort((a, b) => seat(a) - seat(b) || 0);
  }

  /** How refusals write amounts and players. */
  get words() {
    return { currency: this.currency, playerName: (player: string) => this.name(player) };
  }

  nextPlayer(): void {
    const players = this.players;
    this.player = players[(players.indexOf(this.player) + 1) % players.length] ?? "";
  }

  /**
   * Keep events that the dealer must read: void rounds and throws, reversals, what was recorded without an effect of
   * its own, and call bets to place. Speak the announcement of a round that the user has stopped, or of a void that a
   * second person has approved for them.
   */
  private notice(event: Event, view: TableView): void {
    const voids = event.type === "RoundVoided" || event.type === "ThrowRepeated";
    const announces = event.type === "RoundStopped" || (voids && !!event.approved_by && this.announced !== event.cause);
    if (announces && event.by?.id === session.who?.account)
      this.say(this.game?.conduct.irregularities[event.cause]?.announces);
    if (event.type === "RoundStopped") this.announced = event.cause;
    else if (voids || event.type === "RoundResumed") this.announced = "";
    const kept =
      event.type === "RoundVoided" ||
      event.type === "ThrowRepeated" ||
      event.type === "RoundsReversed" ||
      event.type === "IrregularityNoted" ||
      (event.type === "BetPlaced" && event.manner === "call" && event.by.role === "player");
    if (kept) this.notices = [...this.notices, { id: this.noticed++, event, round: view.rounds }].slice(-4);
  }

  read(id: number): void {
    this.notices = this.notices.filter((each) => each.id !== id);
  }

  private async pollRequests(): Promise<void> {
    while (!this.stopped) {
      await this.loadRequests();
      await new Promise((done) => setTimeout(done, POLL_MS));
    }
  }

  /** Load the requests once earlier loads are done, so that an older answer never replaces a newer one. */
  loadRequests(): Promise<void> {
    this.requestsLoaded = this.requestsLoaded.then(() => this.readRequests());
    return this.requestsLoaded;
  }

  private async readRequests(): Promise<void> {
    if (!this.roles.length || this.stopped) return;
    try {
      const pending = await get("/api/requests", { query: { table: this.table }, background: true });
      await this.learn(this.requests.filter((old) => isMine(old) && !pending.some((each) => each.id === old.id)));
      this.requests = pending;
    } catch {
      // The next poll retries.
    }
  }

  /** Load the decisions on the user's requests that are no longer pending. */
  private async learn(gone: RequestView[]): Promise<void> {
    for (const each of gone) {
      const now = await get("/api/requests/{request}", { at: { request: each.id }, background: true });
      if (now.state !== "withdrawn") this.decided = [...this.decided.filter((old) => old.id !== now.id), now].slice(-3);
    }
  }
}

export const isMine = (request: RequestView): boolean => request.account === session.who?.account;
