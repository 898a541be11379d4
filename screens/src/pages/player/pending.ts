// Track pending chips until the server has acknowledged them and the events have arrived, so that no chip
// flickers or looks accepted too early.

import type { Act, Lying } from "./slip.ts";

export interface Waiting {
  readonly key: string;
  readonly area: string;
  readonly amount: number;
  /** The version at which the server accepted it; 0 until it has. */
  readonly version: number;
}

export type Ledger = readonly Waiting[];

export const sent = (ledger: Ledger, act: Act, keys: readonly string[]): Ledger => [
  ...ledger,
  ...act.map(({ area, amount }, i) => ({ key: keys[i]!, area, amount, version: 0 })),
];

export const acknowledged = (ledger: Ledger, key: string, version: number): Ledger =>
  ledger.map((each) => (each.key === key ? { ...each, version } : each));

export const forgotten = (ledger: Ledger, keys: readonly string[]): Ledger =>
  ledger.filter((each) => !keys.includes(each.key));

/** Drop the entries that the table's view already includes. */
export const caughtUp = (ledger: Ledger, version: number): Ledger =>
  ledger.some((each) => each.version && each.version <= version)
    ? ledger.filter((each) => !each.version || each.version > version)
    : ledger;

export interface Shown {
  /** Acknowledged chips by area, without those being withdrawn. */
  readonly placed: Lying;
  /** Chips by area that are being placed or withdrawn. */
  readonly pending: Lying;
  /** Acknowledged chips that the view's stack still includes. */
  readonly spent: number;
  /** Unacknowledged chips that will leave the stack. */
  readonly going: number;
}

export function shown(lying: Lying, ledger: Ledger): Shown {
  const placed: Record<string, number> = { ...lying };
  const pending: Record<string, number> = {};
  let spent = 0;
  let going = 0;
  for (const { area, amount, version } of ledger) {
    if (version || amount < 0) placed[area] = (placed[area] ?? 0) + amount;
    if (version) spent += amount;
    else pending[area] = (pending[area] ?? 0) + Math.abs(amount);
    if (!version && amount > 0) going += amount;
  }
  return { placed: positive(placed), pending: positive(pending), spent, going };
}

/** Return the chips by area once all pending ones are accepted. */
export const intended = (lying: Lying, ledger: Ledger): Lying =>
  shown(
    lying,
    ledger.map((each) => ({ ...each, version: 1 })),
  ).placed;

const positive = (amounts: Record<string, number>): Lying =>
  Object.fromEntries(Object.entries(amounts).filter(([, amount]) => amount > 0));
