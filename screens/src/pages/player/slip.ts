// The slip: what a player has put down and taken back since betting opened, so that each act can be
// undone and done again; and the acts that move many chips at once.

import { isRecord } from "../../lib/storage.ts";

/** Chips on an area of the felt; below zero they are taken back from it. */
export interface Move {
  readonly area: string;
  readonly amount: number;
}

/** What one tap asks for: done whole or not at all. */
export type Act = readonly Move[];

/** A player's own chips by area. */
export type Lying = Readonly<Record<string, number>>;

export interface Slip {
  readonly done: readonly Act[];
  readonly undone: readonly Act[];
}

export const EMPTY: Slip = { done: [], undone: [] };

/** A new act ends what could be done again. */
export const did = (slip: Slip, act: Act): Slip => ({ done: [...slip.done, act], undone: [] });

/** What takes the last act back, and the slip after that. */
export function undoing(slip: Slip): { act: Act; after: Slip } | null {
  const last = slip.done.at(-1);
  if (!last) return null;
  return { act: inverse(last), after: { done: slip.done.slice(0, -1), undone: [...slip.undone, last] } };
}

/** What does the act again that was undone last, and the slip after that. */
export function redoing(slip: Slip): { act: Act; after: Slip } | null {
  const last = slip.undone.at(-1);
  if (!last) return null;
  return { act: last, after: { done: [...slip.done, last], undone: slip.undone.slice(0, -1) } };
}

export const inverse = (act: Act): Act => [...act].reverse().map(({ area, amount }) => ({ area, amount: -amount }));

/**
 * Put a set of chips down: a rebet, a favourite, and all there is once more for a double. The largest
 * come first, and go last: of a box with chips at both ends, none is under its minimum in between.
 */
export const laid = (set: Lying): Act =>
  entries(set)
    .sort(([, a], [, b]) => b - a)
    .map(([area, amount]) => ({ area, amount }));

export const cleared = (lying: Lying): Act => inverse(laid(lying));

/** Take half of every bet back; null where a half cannot be made of whole chips of `step`. */
export function halved(lying: Lying, step: (area: string) => number): Act | { odd: string } {
  const odd = entries(lying).find(([area, amount]) => amount % (2 * step(area)));
  if (odd) return { odd: odd[0] };
  return entries(lying).map(([area, amount]) => ({ area, amount: -amount / 2 }));
}

export const totalOf = (lying: Lying): number => entries(lying).reduce((sum, [, amount]) => sum + amount, 0);

const entries = (lying: Lying): [string, number][] => Object.entries(lying).filter(([, amount]) => amount > 0);

/** Whether a stored value is a set of chips. */
export function isSet(value: unknown): value is Lying {
  return isRecord(value) && Object.values(value).every((amount) => Number.isSafeInteger(amount) && Number(amount) > 0);
}
