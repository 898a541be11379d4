// Limits as they are edited: text by family and box, read back into what the house takes.

import type { GameView, StakeRange, TableLimits } from "../../../api/schema.d.ts";
import { typed } from "../../../lib/money.ts";

/** Two texts for a family or a box. */
export interface Typed {
  minimum: string;
  maximum: string;
}

export interface Draft {
  families: Record<string, Typed>;
  boxes: Record<string, Typed>;
  differential: Record<string, string>;
}

/** The limits as somebody would type them. */
export function draftOf(limits: TableLimits, show: (amount: number) => string): Draft {
  const range = (each: StakeRange): Typed => ({ minimum: show(each.minimum), maximum: show(each.maximum) });
  return {
    families: mapped(limits.families, range),
    boxes: mapped(limits.boxes ?? {}, range),
    differential: mapped(limits.differential ?? {}, show),
  };
}

/** What was typed; null where something is no amount, or the least is more than the most. */
export function limitsOf(draft: Draft, currency: string): TableLimits | null {
  const families = mapped(draft.families, (each) => rangeOf(each, currency));
  const boxes = mapped(draft.boxes, (each) => rangeOf(each, currency));
  const differential = mapped(draft.differential, (each) => typed(each, currency));
  const all = [...Object.values(families), ...Object.values(boxes), ...Object.values(differential)];
  if (all.includes(null)) return null;
  return { families, boxes, differential } as TableLimits;
}

export function rangeOf({ minimum, maximum }: Typed, currency: string): StakeRange | null {
  const [least, most] = [typed(minimum, currency), typed(maximum, currency)];
  return least === null || most === null || least < 1 || least > most ? null : { minimum: least, maximum: most };
}

/** The families of a game in the order of its boxes, each with its boxes. */
export function familiesOf(game: GameView): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const box of game.boxes) found.set(box.family, [...(found.get(box.family) ?? []), box.id]);
  return found;
}

export interface Change {
  what: string;
  before: StakeRange | number | null;
  after: StakeRange | number | null;
}

/** What new limits change: families, boxes, differentials, in that order. */
export function changes(before: TableLimits, after: TableLimits): Change[] {
  const found: Change[] = [];
  for (const part of ["families", "boxes", "differential"] as const) {
    const [old, fresh] = [before[part] ?? {}, after[part] ?? {}] as Record<string, StakeRange | number>[];
    for (const what of new Set([...Object.keys(old!), ...Object.keys(fresh!)])) {
      const [was, is] = [old![what] ?? null, fresh![what] ?? null];
      if (JSON.stringify(was) !== JSON.stringify(is)) found.push({ what, before: was, after: is });
    }
  }
  return found;
}

function mapped<A, B>(from: Record<string, A>, to: (each: A) => B): Record<string, B> {
  return Object.fromEntries(Object.entries(from).map(([key, each]) => [key, to(each)]));
}
