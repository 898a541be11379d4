// Load the past rounds of a table and the player's net of each, again after every round and every reconnect.

import { get } from "../../api/client.ts";
import type { ResultLine } from "../../api/schema.d.ts";
import { netsOf, pastRounds } from "./history.ts";
import type { Playing } from "./playing.svelte.ts";

/** Enough for the roads; voided and reversed rounds take up lines too. */
const MOST = 110;
const TRIES = 8;
const AGAIN_MS = 400;

export class PastRounds {
  /** The result lines, the oldest first. */
  lines = $state.raw<readonly ResultLine[]>([]);
  nets = $state.raw<ReadonlyMap<number, number>>(new Map());
  /** Each round once, the newest first. */
  readonly rounds = $derived(pastRounds(this.lines));
  private asked = 0;
  private readonly playing: Playing;
  private readonly plays: boolean;

  constructor(playing: Playing, plays: boolean) {
    this.playing = playing;
    this.plays = plays;
  }

  /** Load the history whenever a round ends; call it in an effect. */
  follow(): void {
    void this.playing.story.chapters;
    void this.playing.following.connected;
    void this.load(TRIES);
  }

  /**
   * Load the history, and retry while it lacks the last round: another server instance may have answered, and may
   * lag behind the one that sends the events.
   */
  private async load(tries: number): Promise<void> {
    const mine = ++this.asked;
    const { following, me, story } = this.playing;
    try {
      const [last, statement] = await Promise.all([
        get("/api/tables/{table}/results", { at: { table: following.table }, query: { most: MOST }, background: true }),
        this.plays
          ? get("/api/accounts/{player}/statement", { at: { player: me }, query: { most: 1000 }, background: true })
          : [],
      ]);
      if (mine !== this.asked) return; // a newer request replaces this one
      this.lines = last;
      this.nets = netsOf(statement, following.table, pastRounds(last));
      const over = story.over;
      if (tries && over && !last.some((line) => line.round >= over))
        setTimeout(() => mine === this.asked && void this.load(tries - 1), AGAIN_MS);
    } catch {
      // The next round or a reconnect loads it again.
    }
  }
}
