// Chips on their way: pending until the house has acknowledged them, and then until the events that
// say so have arrived, so that no chip flickers and none looks accepted that is not.

import type { Act, Lying } from "./slip.ts";

export interface Waiting {
  readonly key: string;
  readonly area: string;
  readonly amount: number;
  /** The version at which the house has accepted it; 0 while nobody knows. */
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

/** Leave out what the table's view holds by now. */
export const caughtUp = (ledger: Ledger, version: number): Ledger =>
  ledger.some((each) => each.version && each.version <= version)
    ? ledger.filter((each) => !each.version || each.version > version)
    : ledger;

export interface Shown {
  /** Acknowledged chips by area, without those that are being taken back. */
  readonly placed: Lying;
  /** Chips by area that are being put down or taken back. */
  readonly pending: Lying;
  /** How much the stack is less than the view says, for chips that are acknowledged. */
  readonly spent: number;
  /** How much more it will be less, once what is being put down is acknowledged. */
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

const positive = (amounts: Record<string, number>): Lying =>
  Object.fromEntries(Object.entries(amounts).filter(([, amount]) => amount > 0));
