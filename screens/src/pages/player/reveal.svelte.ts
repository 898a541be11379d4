// Time the moment of the result: the dice land one by one, then the boxes light and the net appears, all within a
// second of the call.

import { isStill } from "../../lib/motion.ts";
import { land, tumble } from "../../lib/sounds.svelte.ts";

/** When each die starts to fall, in milliseconds after the call. */
const FALLS_MS = [100, 280, 460] as const;
/** From the start of a fall to the impact, and to rest; `Tumbler.svelte` has the animation. */
const IMPACT_MS = 190;
const REST_MS = 340;
/** From the rest of the dice to the lists of past results, which are drawn when the lamps and the net are. */
const LIST_MS = 150;
const TUMBLE_MS = 800;

export class Reveal {
  /** How many dice are shown. */
  dice = $state(3);
  /** Whether the dice rest, so that what follows from them may be shown. */
  over = $state(true);
  /** Whether the result is among the past results. */
  listed = $state(true);
  tumbling = $state(false);
  private timers: ReturnType<typeof setTimeout>[] = [];

  /** Shake the tumbler. */
  tumble(): void {
    tumble();
    if (isStill()) return;
    this.tumbling = true;
    this.after(TUMBLE_MS, () => (this.tumbling = false));
  }

  /** Show the dice one after the other, then call `then`. */
  start(then: () => void): void {
    this.finish();
    if (isStill()) {
      land();
      then();
      return;
    }
    this.dice = 0;
    this.over = false;
    this.listed = false;
    for (const [i, ms] of FALLS_MS.entries()) {
      this.after(ms, () => (this.dice = i + 1));
      this.after(ms + IMPACT_MS, land);
    }
    this.after(FALLS_MS.at(-1)! + REST_MS, () => {
      this.over = true;
      this.after(0, then); // the boxes light first
      this.after(LIST_MS, () => (this.listed = true));
    });
  }

  /** Show the end state at once. */
  finish(): void {
    this.timers.forEach(clearTimeout);
    this.timers = [];
    this.tumbling = false;
    this.dice = 3;
    this.over = true;
    this.listed = true;
  }

  private after(ms: number, what: () => void): void {
    this.timers.push(setTimeout(what, ms));
  }
}
