// Convert limits to editable texts by family and box, and parse them back.

import type { GameView, StakeRange, TableLimits } from "../../../api/schema.d.ts";
import { typed } from "../../../lib/money.ts";

/** The texts of a minimum and a maximum. */
export interface Typed {
  minimum: string;
  maximum: string;
}

export interface Draft {
  families: Record<string, Typed>;
  boxes: Record<string, Typed>;
  differential: Record<string, string>;
}

/** Format limits as an editable draft. */
export function draftOf(limits: TableLimits, show: (amount: number) => string): Draft {
  const range = (each: StakeRange): Typed => ({ minimum: show(each.minimum), maximum: show(each.maximum) });
  return {
    families: mapped(limits.families, range),
    boxes: mapped(limits.boxes ?? {}, range),
    differential: mapped(limits.differential ?? {}, show),
  };
}

/** Parse a draft; return null if a text is not an amount, or a minimum exceeds its maximum. */
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

/** Return the families of a game in the order of its boxes, each with its boxes. */
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

/** List the changes of new limits: families, boxes, differentials, in that order. */
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
