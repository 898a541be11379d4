// A table that a screen follows: its game, its view as events arrive, and whether the house is heard.

import { get } from "../api/client.ts";
import { Live } from "../api/live.ts";
import type { Event, GameView, Happened, LiveMessage, TableView } from "../api/schema.d.ts";
import { heardTime } from "../lib/clock.svelte.ts";
import { folded } from "./fold.ts";

export type Heard = (event: Event, at: number, view: TableView) => void;

export class Following {
  readonly table: string;
  view = $state.raw<TableView | null>(null);
  game = $state.raw<GameView | null>(null);
  connected = $state(false);
  suspended = $state(false);
  /** Whether this screen has ever heard the house; before, it is loading and not cut off. */
  begun = $state(false);
  private readonly live: Live;
  private readonly listeners = new Set<Heard>();

  constructor(table: string) {
    this.table = table;
    this.live = new Live(table, { said: (message) => this.hear(message), heard: (yes) => (this.connected = yes) });
  }

  /** Begin to follow; returns how to stop. */
  start(): () => void {
    this.live.open();
    void this.loadGame();
    return () => this.live.close();
  }

  /** Hear each event as it happens, after the view holds it; what a view brought is not told again. */
  onEvent(listener: Heard): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  async loadGame(): Promise<void> {
    try {
      this.game = await get("/api/tables/{table}/game", { at: { table: this.table }, background: true });
    } catch {
      setTimeout(() => void this.loadGame(), 1000);
    }
  }

  private hear(message: LiveMessage): void {
    switch (message.type) {
      case "hello":
        heardTime(message.server_time);
        this.suspended = message.suspended;
        this.begun = true;
        if (message.view) this.show(message.view);
        break;
      case "resync":
        heardTime(message.server_time);
        this.show(message.view);
        break;
      case "events":
        for (const each of message.events) this.happen(each);
        break;
      case "standing":
        this.suspended = message.suspended;
        break;
      case "pong":
        heardTime(message.server_time);
        break;
      case "refused":
        break;
    }
  }

  private show(view: TableView): void {
    this.view = view;
    this.live.version = view.version;
  }

  private happen(happened: Happened): void {
    if (!this.view || happened.version <= this.view.version) return;
    const before = this.view.game_hash;
    this.view = folded(this.view, happened);
    this.live.version = happened.version;
    if (this.view.game_hash !== before) void this.loadGame();
    if (happened.event) for (const listener of this.listeners) listener(happened.event, happened.at, this.view);
  }
}
