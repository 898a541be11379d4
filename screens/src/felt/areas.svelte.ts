// Hold what each area of the felt shows. Every area has state of its own, so that an event only reaches the areas that
// it changes: were they computed from the table's view, each of them would be checked at every event. A frame changes
// a few areas at most: a result that clears a full felt at once would hold up the animations.

import type { Area } from "../api/schema.d.ts";
import { isStill } from "../lib/motion.ts";
import { areSame } from "./felt.ts";
import type { Pile } from "./felt.ts";

const NONE: readonly Pile[] = [];

/** How many areas change in one frame. */
export const AT_ONCE = 5;

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
   * and always to a user who wants less motion; otherwise lamps and the player's own chips come first.
   */
  show(piles: readonly Pile[], lit: ReadonlySet<string>, descriptions: readonly string[]): void {
    const found = byArea(piles);
    this.waiting = this.areas
      .map((state, i) => {
        const after = found.get(state.area.id) ?? NONE;
        const isLit = lit.has(state.area.id);
        const first = isLit !== state.lit || ownState(after) !== ownState(state.piles);
        return { state, piles: after, lit: isLit, description: descriptions[i] ?? "", first };
      })
      .filter(isChange)
      .sort((a, b) => Number(b.first) - Number(a.first));
    if (!this.isShown || isStill()) {
      this.isShown = true;
      this.apply(this.waiting.length);
    } else if (!this.frame) this.showNext();
  }

  /** Stop showing what waits. */
  stop(): void {
    cancelAnimationFrame(this.frame);
  }

  private showNext(): void {
    if (!this.waiting.length) return;
    this.apply(AT_ONCE);
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.showNext();
    });
  }

  private apply(most: number): void {
    for (const { state, piles, lit, description } of this.waiting.splice(0, most)) {
      if (!areSame(state.piles, piles)) state.piles = piles;
      state.lit = lit;
      state.description = description;
    }
  }
}

const isChange = ({ state, piles, lit, description }: Change): boolean =>
  state.lit !== lit || state.description !== description || !areSame(state.piles, piles);

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
