// Keep a table's register of equipment up to date, and tell what the user may do with it now.

import { get } from "../../../api/client.ts";
import { command } from "../../../api/commands.ts";
import type { TableCommand } from "../../../api/commands.ts";
import type { EquipmentView, GameView, PieceView } from "../../../api/schema.d.ts";
import { session } from "../../../lib/session.svelte.ts";
import type { Following } from "../../../table/following.svelte.ts";
import { SUPERVISORS } from "../../../lib/roles.ts";
import { mayAct } from "../../dealer/procedure.ts";
import { mayReport } from "../../dealer/reporting.ts";
import { poll } from "../../../lib/poll.ts";
import { Action } from "../shared/action.svelte.ts";

/** The kinds of equipment that any table may have, besides those that its rulebook describes. */
const USUAL = ["tumbler", "cover", "terminal", "lights", "results-display", "bell", "drop-box", "chip-rack"];

export class Register {
  equipment = $state.raw<EquipmentView | null>(null);
  readonly doing: Action;
  readonly table: string;
  readonly following: Following;
  #version = 0;

  constructor(table: string, following: Following, doing = new Action()) {
    this.table = table;
    this.following = following;
    this.doing = doing;
  }

  /** Reload the register whenever the table has changed; return a function that stops it. */
  watch(): () => void {
    return poll(() => this.#look(), 1);
  }

  async #look(): Promise<void> {
    const version = this.following.view?.version ?? 0;
    if (version !== this.#version || !this.equipment) await this.#load(version);
  }

  async #load(version: number): Promise<void> {
    this.equipment = await get("/api/tables/{table}/equipment", { at: { table: this.table }, background: true });
    this.#version = version;
  }

  /** Send a command and show the register after it; return whether it was accepted. */
  async send(what: TableCommand, done: string): Promise<boolean> {
    const accepted = await this.doing.run(() => command(this.table, what), done);
    if (accepted) await this.#load(0).catch(() => undefined);
    return accepted;
  }

  get game(): GameView | null {
    return this.following.game;
  }

  /** The pieces that are no dice. */
  get pieces(): PieceView[] {
    return this.equipment?.pieces.filter((each) => !each.dice.length) ?? [];
  }

  get dice(): PieceView[] {
    return this.equipment?.pieces.filter((each) => each.dice.length) ?? [];
  }

  /** Whether the user may change the register; a table that the house deals has none. */
  get mayChange(): boolean {
    return !this.following.view?.dealt_by_house && this.#roles.some((role) => SUPERVISORS.includes(role));
  }

  /** Whether changes are possible now: they wait until no round is being played. */
  get isIdle(): boolean {
    return !this.following.view?.round && !this.doing.busy;
  }

  get mayRelease(): boolean {
    return this.mayChange && !!this.game && mayAct(this.game, "release-table", this.#roles, SUPERVISORS);
  }

  /** The kinds of equipment that can be registered, without dice. */
  get kinds(): string[] {
    const named = Object.keys(this.game?.conduct.equipment ?? {});
    return [...new Set([...named, ...USUAL])].filter((kind) => kind !== "dice");
  }

  /** The kinds that the table can be set up without: optional ones, of which no piece is in use. */
  get omissible(): string[] {
    const used = this.pieces.filter((each) => each.in_use).map((each) => each.kind);
    const rules = Object.entries(this.game?.conduct.equipment ?? {});
    return rules
      .filter(([, rule]) => rule.needed === "optional")
      .map(([kind]) => kind)
      .filter((kind) => !used.includes(kind) && !this.equipment?.omitted.includes(kind));
  }

  /** The malfunctions that the user may report of a piece. */
  faultsOf(piece: PieceView): string[] {
    const { game } = this;
    if (!game || !piece.in_use || !this.following.view?.open) return [];
    return Object.entries(game.conduct.irregularities)
      .filter(([, rule]) => (rule.pieces ?? []).includes(piece.kind) && mayReport(game, rule, this.#roles))
      .map(([name]) => name);
  }

  get #roles(): readonly string[] {
    return session.who?.roles ?? [];
  }
}
