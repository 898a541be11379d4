// Hold the state of a player at a table: the selected chip, the slip, pending chips, and every action that moves
// chips. Actions are sent one at a time, and one with many bets is applied completely or not at all.

import { get, Trouble } from "../../api/client.ts";
import { command, newKey } from "../../api/commands.ts";
import type { TableCommand } from "../../api/commands.ts";
import type { CommandResultView } from "../../api/schema.d.ts";
import { announce } from "../../lib/announcer.svelte.ts";
import { boxOf } from "../../lib/game.ts";
import { short } from "../../lib/money.ts";
import { Following } from "../../table/following.svelte.ts";
import * as pending from "./pending.ts";
import { endIn, faults, roomAt, spotOf } from "./room.ts";
import type { Fault, Room } from "./room.ts";
import * as slips from "./slip.ts";
import type { Act, Lying, Slip } from "./slip.ts";
import { Story } from "./story.svelte.ts";
import { t } from "../../texts/texts.ts";

/** A refusal and its effect on the rest of the action; shown until it is closed or another action starts. */
export interface Refusal {
  readonly trouble?: Trouble;
  readonly faults?: readonly Fault[];
  /** A bet that cannot be halved, or an empty set. */
  readonly plain?: "odd" | "nothing";
  readonly area: string;
  /** The state of the action's earlier bets: withdrawn, or still placed. */
  readonly rest?: "none" | "taken-back" | "stays";
}

/** A word at a box: why a press did nothing, or that a bet is still wanted there. */
export interface Hint {
  readonly area: string;
  readonly words: string;
}

type Kind = "one" | "set";

export class Playing {
  readonly following: Following;
  readonly story: Story;
  readonly me: string;
  chip = $state(0);
  slip = $state.raw<Slip>(slips.EMPTY);
  ledger = $state.raw<pending.Ledger>([]);
  refusal = $state.raw<Refusal | null>(null);
  /** The number of pending commands other than bets, such as a buy-in or a throw. */
  asking = $state(0);
  /** The transfer of money whose dialog is open. */
  moving = $state<"buy-in" | "cash-out" | "repay" | null>(null);
  /** The area that was tapped without chips, for which chips are bought. */
  wanted = $state("");
  hint = $state.raw<Hint | null>(null);
  private queue: Promise<unknown> = Promise.resolve();
  private round = 0;

  constructor(table: string, me: string) {
    this.me = me;
    this.following = new Following(table);
    this.story = new Story(this.following, me);
  }

  start(): () => void {
    const unheard = [
      this.story.start(),
      this.following.onEvent((event, _at, view) => {
        if (event.type === "BettingOpened" || event.type === "BettingClosed" || event.type === "RoundVoided")
          this.slip = slips.EMPTY;
        if (event.type === "RoundStarted") this.refusal = null;
        if (event.type === "RoundStarted" || event.type === "ResultCalled") this.hint = null;
        if (event.type === "BettingOpened") this.offerWanted();
        this.ledger = pending.caughtUp(this.ledger, view.version);
      }),
      this.following.start(),
    ];
    return () => unheard.forEach((stop) => stop());
  }

  /** Take over a full view, which no event announces. */
  see(): void {
    const view = this.view;
    if (!view) return;
    this.ledger = pending.caughtUp(this.ledger, view.version);
    if (view.round?.number !== this.round) this.slip = slips.EMPTY;
    this.round = view.round?.number ?? 0;
    this.story.see(view);
    if (!this.chip) this.chip = view.chips[0] ?? 0;
  }

  // --- derived state ----------------------------------------------------------------------------

  get view() {
    return this.following.view;
  }

  get game() {
    return this.following.game;
  }

  get seat() {
    return this.view?.seats[this.me] ?? null;
  }

  readonly lying: Lying = $derived.by(() => this.seat?.areas ?? {});
  readonly shown = $derived.by(() => pending.shown(this.lying, this.ledger));
  readonly stack = $derived((this.seat?.stack ?? 0) - this.shown.spent);
  readonly staked = $derived((this.seat?.at_risk ?? 0) + this.shown.spent);
  private lastRoom: Room | null = null;
  /** The room on every spot; the same object until it changes, so that an event updates no box that it leaves alone. */
  readonly room: Room | null = $derived.by(() => {
    const room = this.game && this.view ? roomAt(this.game, this.view, this.me) : null;
    if (JSON.stringify(room) !== JSON.stringify(this.lastRoom)) this.lastRoom = room;
    return this.lastRoom;
  });
  /** What a rebet places: the chips of the last round that are not on the felt again. */
  readonly missing = $derived.by(() => slips.missing(this.story.last, pending.intended(this.lying, this.ledger)));
  /** The shooter's locked bet, on a box that other players cannot use. */
  readonly shooterStake = $derived.by(() => {
    const { shooter } = this.view ?? {};
    return shooter?.player === this.me ? shooter.stake : 0;
  });
  readonly owing = $derived.by(() => this.view?.owing[this.me] ?? 0);
  readonly betting = $derived.by(() => {
    const { view, following } = this;
    const done = view?.round?.done ?? [];
    const open = done.includes("open-betting") && !done.includes("close-betting");
    return !!view?.open && open && !view.interrupted && following.connected && !following.suspended;
  });
  /** Whether the player has chips that are not on the felt or on their way there. */
  readonly hasChips = $derived(this.stack - this.shown.going > 0);
  /** The value of the chip to place: of the player's colour, or the selected one. */
  readonly inHand = $derived(this.seat?.colour_value || this.chip);
  /** Whether no command is pending. */
  readonly sure = $derived(!this.asking && !this.ledger.length);

  // --- actions ----------------------------------------------------------------------------------

  place(area: string, amount = this.inHand): Promise<boolean> {
    this.wanted = "";
    this.hint = null;
    return this.act([{ area, amount }], "one");
  }

  /** Open the dialog that buys chips, and remember the area to bet on. */
  buyFor(area: string): void {
    this.wanted = area;
    this.moving = "buy-in";
  }

  /** Return the least bet on an area in chips of the selected value. */
  leastAt(area: string): number {
    const least = (this.game && this.room?.spots[spotOf(this.game, area)]?.minimum) || 0;
    return Math.max(Math.ceil(least / this.inHand), 1) * this.inHand;
  }

  /** Remind of the bet for which chips were bought while betting was not open. */
  private offerWanted(): void {
    if (!this.wanted || !this.hasChips) return;
    const amount = short(this.inHand, this.view?.currency ?? "");
    this.hint = { area: this.wanted, words: t("player.blocked.wanted", { amount }) };
    announce(this.hint.words);
  }

  /** Withdraw one chip of the selected value, or all chips there if they are worth less. */
  takeBack(area: string): Promise<boolean> {
    const there = this.shown.placed[area] ?? 0;
    if (!there) return Promise.resolve(false);
    return this.act([{ area, amount: -Math.min(this.inHand, there) }], "one");
  }

  undo(): Promise<boolean> {
    return this.retrace(slips.undoing(this.slip));
  }

  redo(): Promise<boolean> {
    return this.retrace(slips.redoing(this.slip));
  }

  clear(): Promise<boolean> {
    return this.act(slips.cleared(this.shown.placed), "set");
  }

  rebet(): Promise<boolean> {
    return this.missing.length ? this.act(this.missing, "set") : Promise.resolve(false);
  }

  double(): Promise<boolean> {
    return this.act(slips.laid(this.shown.placed), "set");
  }

  half(): Promise<boolean> {
    const halved = slips.halved(this.shown.placed, (area) => this.stepAt(area));
    if ("odd" in halved) return this.refused({ plain: "odd", area: halved.odd });
    return this.act(halved, "set");
  }

  favourite(set: Lying): Promise<boolean> {
    return this.act(slips.laid(set), "set");
  }

  /** Send a command that is not part of the slip; return whether it was accepted. */
  async ask(what: TableCommand): Promise<boolean> {
    this.asking += 1;
    this.refusal = null;
    try {
      await this.inTurn(() => command(this.following.table, what));
      return true;
    } catch (error) {
      return this.refused({ trouble: troubleOf(error), area: "" });
    } finally {
      this.asking -= 1;
    }
  }

  private stepAt(area: string): number {
    const step = (this.game && this.room?.spots[spotOf(this.game, area)]?.step) || 1;
    return Math.max(step, this.seat?.colour_value ?? 0);
  }

  private async retrace(step: { act: Act; after: Slip } | null): Promise<boolean> {
    if (!step) return false;
    const before = this.slip;
    this.slip = step.after; // so that a second tap goes one step further
    const done = await this.act(step.act, step.act.length > 1 ? "set" : "one", false);
    if (!done && this.slip === step.after) this.slip = before;
    return done;
  }

  private act(act: Act, kind: Kind, noted = true): Promise<boolean> {
    this.refusal = null;
    if (!act.length) return this.refused({ plain: "nothing", area: "" });
    const shooter = this.game?.conduct.shooter?.box;
    const locked = act.every(({ area }) => area === shooter);
    const keys = act.map(() => newKey());
    const round = this.view?.round?.number; // bets apply to this round, however long they queue
    this.ledger = pending.sent(this.ledger, act, keys);
    return this.inTurn(async () => {
      const done = await this.carryOut(act, keys, kind, round);
      if (done && noted && !locked) this.slip = slips.did(this.slip, act);
      return done;
    });
  }

  private inTurn<T>(next: () => Promise<T>): Promise<T> {
    const turn = this.queue.then(next);
    this.queue = turn.catch(() => {});
    return turn;
  }

  private async carryOut(act: Act, keys: string[], kind: Kind, round?: number): Promise<boolean> {
    try {
      if (kind === "set") {
        const found = await this.faultsOf(act, keys);
        if (found.length) {
          this.ledger = pending.forgotten(this.ledger, keys);
          return this.refused({ faults: found, area: found[0]!.area, rest: "none" });
        }
      }
    } catch (error) {
      this.ledger = pending.forgotten(this.ledger, keys);
      return this.refused({ trouble: troubleOf(error), area: "", rest: "none" });
    }
    for (const [i, move] of act.entries()) {
      try {
        this.accept(keys[i]!, await this.send(move, keys[i]!, round));
      } catch (error) {
        this.ledger = pending.forgotten(this.ledger, keys.slice(i));
        const rest = i ? await this.withdraw(act.slice(0, i), round) : "none";
        return this.refused({ trouble: troubleOf(error), area: move.area, ...(kind === "set" ? { rest } : {}) });
      }
    }
    return true;
  }

  /** Load the room from the server, and check the whole set against it. */
  private async faultsOf(act: Act, keys: string[]): Promise<Fault[]> {
    const { game, view } = this;
    if (!game || !view) return [];
    const room = await get("/api/tables/{table}/room", { at: { table: this.following.table } });
    const others = this.ledger.filter((each) => !keys.includes(each.key));
    const purse = {
      stack: (this.seat?.stack ?? 0) - pending.shown({}, others).spent,
      chip: this.seat?.colour_value || view.chips[0] || 1,
      refuses: view.mode === "refuse",
    };
    return faults(game, room, purse, act);
  }

  /** Withdraw the bets that were accepted before a later one of the same action was refused. */
  private async withdraw(gone: Act, round?: number): Promise<"taken-back" | "stays"> {
    const back = slips.inverse(gone);
    const keys = back.map(() => newKey());
    this.ledger = pending.sent(this.ledger, back, keys);
    let all = true;
    for (const [i, move] of back.entries()) {
      try {
        this.accept(keys[i]!, await this.send(move, keys[i]!, round));
      } catch {
        this.ledger = pending.forgotten(this.ledger, [keys[i]!]);
        all = false;
      }
    }
    return all ? "taken-back" : "stays";
  }

  private send({ area, amount }: slips.Move, key: string, round?: number): Promise<CommandResultView> {
    const what = { player: this.me, box: boxOf(area), area: endIn(area), amount: Math.abs(amount), round };
    const type = amount > 0 ? ("PlaceBet" as const) : ("WithdrawBet" as const);
    return command(this.following.table, { type, ...what } as TableCommand, key);
  }

  private accept(key: string, done: CommandResultView): void {
    this.ledger = pending.acknowledged(this.ledger, key, done.version);
    if (this.view) this.ledger = pending.caughtUp(this.ledger, this.view.version);
  }

  private refused(refusal: Refusal): Promise<boolean> {
    this.refusal = refusal;
    return Promise.resolve(false);
  }
}

/** Return the error if it is a refusal or a network failure; rethrow defects. */
function troubleOf(error: unknown): Trouble {
  if (error instanceof Trouble) return error;
  throw error;
}
