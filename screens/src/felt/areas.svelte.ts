// Hold what each area of the felt shows. Every area has state of its own, so that an event only reaches the areas that
// it changes: were they computed from the table's view, each of them would be checked at every event. A frame changes
// a few areas at most: a result that clears a full felt at once would hold up the animations.

import type { Area } from "../api/schema.d.ts";
import { isStill } from "../lib/motion.ts";
import { areSame } from "./felt.ts";
import type { Pile } from "./felt.ts";

const NONE: readonly Pile[] = [];

/** How much changes in one frame: an area with other chips, whose label is laid out anew, counts as two lamps. */
export const MOST_CHANGED = 4;
const CHIPS_COST = 2;
const LAMP_COST = 1;

export class AreaState {
  readonly area: Area;
  piles = $state.raw<readonly Pile[]>(NONE);
  lit = $state(false);
  /** What the page adds to the name. */
  description = $state("");

  constructor(area: Area) {
    this.area = area;
  }
}

interface Change {
  state: AreaState;
  piles: readonly Pile[];
  lit: boolean;
  description: string;
  /** Whether it lights a lamp or concerns the player's own chips. */
  first: boolean;
  cost: number;
}

export class FeltState {
  readonly areas: readonly AreaState[];
  private waiting: Change[] = [];
  private frame = 0;
  private isShown = false;

  constructor(areas: readonly Area[]) {
    this.areas = areas.map((area) => new AreaState(area));
  }

  /**
   * Show piles, lamps and descriptions, these in the order of the areas. The first time everything is shown at once,
   * and always to a user who wants less motion; otherwise lamps and the player's own chips come first. More than fits
   * into one frame begins in the next one, because this one draws what the same event changes elsewhere on the page.
   */
  show(piles: readonly Pile[], lit: ReadonlySet<string>, descriptions: readonly string[]): void {
    const found = byArea(piles);
    this.waiting = [];
    for (const [i, state] of this.areas.entries()) {
      const { id } = state.area;
      const change = changeOf(state, found.get(id) ?? NONE, lit.has(id), descriptions[i] ?? "");
      if (change) this.waiting.push(change);
    }
    this.waiting.sort((a, b) => Number(b.first) - Number(a.first));
    if (!this.isShown || isStill()) {
      this.isShown = true;
      this.apply(Infinity);
    } else if (!this.frame) {
      const isLarge = this.waiting.reduce((sum, { cost }) => sum + cost, 0) > MOST_CHANGED;
      if (isLarge) this.inFrame(() => this.inFrame(() => this.showNext()));
      else this.showNext();
    }
  }

  /** Stop showing what waits. */
  stop(): void {
    cancelAnimationFrame(this.frame);
  }

  private showNext(): void {
    if (!this.waiting.length) return;
    this.apply(MOST_CHANGED);
    this.inFrame(() => this.showNext());
  }

  private inFrame(show: () => void): void {
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      show();
    });
  }

  private apply(most: number): void {
    let left = most;
    while (this.waiting.length && left >= this.waiting[0]!.cost) {
      const { state, piles, lit, description, cost } = this.waiting.shift()!;
      left -= cost;
      state.piles = piles;
      state.lit = lit;
      state.description = description;
    }
  }
}

/** Return what changes at an area; null if nothing does. */
function changeOf(state: AreaState, piles: readonly Pile[], lit: boolean, description: string): Change | null {
  const isSame = areSame(state.piles, piles);
  if (isSame && state.lit === lit && state.description === description) return null;
  const first = state.lit !== lit || ownState(piles) !== ownState(state.piles);
  const [shown, cost] = isSame ? [state.piles, LAMP_COST] : [piles, CHIPS_COST];
  return { state, piles: shown, lit, description, first, cost };
}

const ownState = (piles: readonly Pile[]): string => piles.find(({ state }) => state !== "others")?.state ?? "";

function byArea(piles: readonly Pile[]): ReadonlyMap<string, readonly Pile[]> {
  const found = new Map<string, Pile[]>();
  for (const pile of piles) {
    const there = found.get(pile.area);
    if (there) there.push(pile);
    else found.set(pile.area, [pile]);
  }
  return found;
}
