// Follow a table: its game, its view as events arrive, and the state of the connection. The view is only shown
// together with the game it belongs to.

import { get, Trouble } from "../api/client.ts";
import { Live } from "../api/live.ts";
import type { Event, GameView, LiveEvent, LiveMessage, TableView } from "../api/schema.d.ts";
import { heardTime, look } from "../lib/clock.svelte.ts";
import { refresh } from "../lib/session.svelte.ts";
import { folded } from "./fold.ts";

export type Heard = (event: Event, at: number, view: TableView) => void;

const PROTOCOL = 1;
const AGAIN_MS = 1000;

export class Following {
  readonly table: string;
  view = $state.raw<TableView | null>(null);
  game = $state.raw<GameView | null>(null);
  connected = $state(false);
  suspended = $state(false);
  /** Whether the first handshake has succeeded; until then the page is loading, not disconnected. */
  begun = $state(false);
  /** Whether the server's protocol differs from this page's, so that the page must be reloaded. */
  outdated = $state(false);
  /** Whether the house has no such table; it is looked for again, because a new one may still be set up. */
  missing = $state(false);
  private readonly live: Live;
  private readonly listeners = new Set<Heard>();
  /** A view that waits for its game, and the events after it. */
  private waiting: { view: TableView; events: LiveEvent[] } | null = null;
  private loading = false;
  private stopped = false;
  /** The audience and player of the view; a reconnect as another one must not continue it. */
  private seenAs = "";

  constructor(table: string) {
    this.table = table;
    this.live = new Live(table, {
      said: (message) => this.hear(message),
      heard: (yes) => (this.connected = yes),
      turnedAway: () => void refresh(),
    });
  }

  /** Start following; return a function that stops it. */
  start(): () => void {
    this.live.open();
    void this.loadGame();
    return () => {
      this.stopped = true;
      this.live.close();
    };
  }

  /**
   * Call a listener for each live event, after it is folded into the view; events that a full view already
   * includes are skipped.
   */
  onEvent(listener: Heard): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Load the table's game, and show the view that waits for it. */
  async loadGame(): Promise<void> {
    if (this.loading || this.stopped) return;
    this.loading = true;
    try {
      this.arrived(await get("/api/tables/{table}/game", { at: { table: this.table }, background: true }));
      this.loading = false;
      this.missing = false;
    } catch (error) {
      this.loading = false;
      this.missing = error instanceof Trouble && error.status === 404;
      setTimeout(() => void this.loadGame(), AGAIN_MS);
    }
  }

  private arrived(game: GameView): void {
    const waiting = this.waiting;
    if (waiting && waiting.view.game_hash !== game.hash) {
      setTimeout(() => this.live.startOver(), AGAIN_MS); // the table is being set up for another game
      return;
    }
    this.game = game;
    if (!waiting) return;
    this.waiting = null;
    this.view = waiting.view;
    for (const each of waiting.events) this.happen(each);
  }

  private hear(message: LiveMessage): void {
    switch (message.type) {
      case "hello":
        this.greet(message);
        break;
      case "resync":
        heardTime(message.server_time);
        this.show(message.view);
        break;
      case "events":
        look();
        for (const each of message.events) this.take(each);
        break;
      case "standing":
        this.suspend(message.suspended);
        break;
      case "pong":
        heardTime(message.server_time);
        break;
      case "refused":
        break;
    }
  }

  private greet(hello: Extract<LiveMessage, { type: "hello" }>): void {
    heardTime(hello.server_time);
    this.outdated = hello.protocol !== PROTOCOL;
    const as = `${hello.audience} ${hello.player}`;
    const goesOn = as === this.seenAs && hello.version === this.live.version;
    this.seenAs = as;
    if (hello.view) this.show(hello.view);
    else if (!goesOn) this.live.startOver();
    this.suspend(hello.suspended);
    this.begun = true;
  }

  private suspend(suspended: boolean): void {
    this.suspended = suspended;
    if (this.view && this.view.suspended !== suspended) this.view = { ...this.view, suspended };
  }

  private show(view: TableView): void {
    this.live.version = view.version;
    this.waiting = null;
    if (this.game?.hash === view.game_hash) {
      this.view = view;
      return;
    }
    this.waiting = { view, events: [] };
    void this.loadGame();
  }

  /** Fold the next event; ignore known versions, and start over after a gap. */
  private take(happened: LiveEvent): void {
    if (this.live.version === null || happened.version <= this.live.version) return;
    if (happened.version > this.live.version + 1) {
      this.live.startOver();
      return;
    }
    this.live.version = happened.version;
    if (this.waiting) this.waiting.events.push(happened);
    else this.happen(happened);
  }

  private happen(happened: LiveEvent): void {
    if (!this.view || !this.game) return;
    this.view = folded(this.view, happened, this.game);
    if (happened.event) for (const listener of this.listeners) listener(happened.event, happened.at, this.view);
    if (this.view.game_hash !== this.game.hash) this.live.startOver(); // another game needs a full view
  }
}
