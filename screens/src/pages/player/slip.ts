// Record the chips that a player has placed and withdrawn since betting opened, for undo and redo; and build the
// actions that move many chips at once.

import { isRecord } from "../../lib/storage.ts";

/** Chips to place on an area; a negative amount withdraws them. */
export interface Move {
  readonly area: string;
  readonly amount: number;
}

/** The moves of one tap, applied completely or not at all. */
export type Act = readonly Move[];

/** A player's own chips by area. */
export type Lying = Readonly<Record<string, number>>;

export interface Slip {
  readonly done: readonly Act[];
  readonly undone: readonly Act[];
}

export const EMPTY: Slip = { done: [], undone: [] };

/** Record an action; this clears the redo history. */
export const did = (slip: Slip, act: Act): Slip => ({ done: [...slip.done, act], undone: [] });

/** Return the action that undoes the last one, and the slip after it. */
export function undoing(slip: Slip): { act: Act; after: Slip } | null {
  const last = slip.done.at(-1);
  if (!last) return null;
  return { act: inverse(last), after: { done: slip.done.slice(0, -1), undone: [...slip.undone, last] } };
}

/** Return the action that redoes the last undone one, and the slip after it. */
export function redoing(slip: Slip): { act: Act; after: Slip } | null {
  const last = slip.undone.at(-1);
  if (!last) return null;
  return { act: last, after: { done: [...slip.done, last], undone: slip.undone.slice(0, -1) } };
}

export const inverse = (act: Act): Act => [...act].reverse().map(({ area, amount }) => ({ area, amount: -amount }));

/**
 * Place a set of chips: a rebet, a favourite, or all present chips again for a double. The largest bets are placed
 * first and withdrawn last, so that a box with chips at both ends is never below its minimum in between.
 */
export const laid = (set: Lying): Act =>
  entries(set)
    .sort(([, a], [, b]) => b - a)
    .map(([area, amount]) => ({ area, amount }));

/** Place the chips of a set that do not lie yet, so that a second tap adds nothing. */
export const missing = (set: Lying, lying: Lying): Act =>
  laid(Object.fromEntries(entries(set).map(([area, amount]) => [area, amount - (lying[area] ?? 0)])));

export const cleared = (lying: Lying): Act => inverse(laid(lying));

/** Withdraw half of every bet; return the area of a bet that cannot be halved in whole chips of `step`. */
export function halved(lying: Lying, step: (area: string) => number): Act | { odd: string } {
  const odd = entries(lying).find(([area, amount]) => amount % (2 * step(area)));
  if (odd) return { odd: odd[0] };
  return entries(lying).map(([area, amount]) => ({ area, amount: -amount / 2 }));
}

export const totalOf = (lying: Lying): number => entries(lying).reduce((sum, [, amount]) => sum + amount, 0);

const entries = (lying: Lying): [string, number][] => Object.entries(lying).filter(([, amount]) => amount > 0);

/** Whether a stored value is a valid set of chips. */
export function isSet(value: unknown): value is Lying {
  return isRecord(value) && Object.values(value).every((amount) => Number.isSafeInteger(amount) && Number(amount) > 0);
}
