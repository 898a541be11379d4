// Arrange the 216 rolls as six squares of six by six: the first die selects the square, the second the row, the
// third the column.

import { ROLLS } from "../../../lib/dice.ts";
import type { Roll } from "../../../lib/dice.ts";

export interface Cell {
  index: number;
  roll: Roll;
  net: number;
  /**
   * The result relative to the extreme of its sign, from 0 to 1; by the square root, so that an outlier does not
   * hide the others.
   */
  heat: number;
  mark: "" | "worst" | "best";
}

export function cells(nets: readonly number[], worst: number, best: number): Cell[] {
  return nets.map((net, index) => ({
    index,
    roll: ROLLS[index]!,
    net,
    heat: net === 0 ? 0 : Math.sqrt(net / (net < 0 ? worst : best)),
    mark: worst === best ? "" : net === worst ? "worst" : net === best ? "best" : "",
  }));
}

/** Return the rolls with a net result, each combination of faces once, in ascending order. */
export function combinations(nets: readonly number[], net: number): Roll[] {
  return ROLLS.filter(([a, b, c], index) => nets[index] === net && a <= b && b <= c);
}

const STEPS: Record<string, number> = {
  ArrowLeft: -1,
  ArrowRight: 1,
  ArrowUp: -6,
  ArrowDown: 6,
  PageUp: -36,
  PageDown: 36,
};

/** Return the cell that a key moves to, or null beyond the first or the last. */
export function moved(index: number, key: string): number | null {
  if (key === "Home") return 0;
  if (key === "End") return 215;
  const step = STEPS[key];
  if (step === undefined) return null;
  return index + step < 0 || index + step > 215 ? index : index + step;
}
