// Format and parse amounts. Amounts are whole minor units everywhere; only displayed and typed text has a decimal
// point.

import { number } from "./numbers.ts";

/**
 * Format 12345 cents as "123.45"; with `sign`, a gain has a plus. The currency is omitted: the screen shows it
 * once.
 */
export function money(amount: number, currency: string, sign = false): string {
  const digits = digitsOf(currency);
  return number(amount / 10 ** digits, digits, sign);
}

/** Format like `money`, but omit zero decimals; for chips and limits. */
export function short(amount: number, currency: string): string {
  const whole = 10 ** digitsOf(currency);
  if (amount % whole) return money(amount, currency);
  return number(amount / whole);
}

/** Format an amount for editing: "1234.5" as "1234.50", whole units without decimals, no separators. */
export function editable(amount: number, currency: string): string {
  const digits = digitsOf(currency);
  return (amount / 10 ** digits).toFixed(digits).replace(/\.0+$/, "");
}

/** Format the value printed on a chip: 2.5K for two thousand five hundred. */
export function onChip(amount: number, currency: string): string {
  const units = amount / 10 ** digitsOf(currency);
  if (units >= 1_000_000) return `${trimmed(units / 1_000_000)}M`;
  if (units >= 1_000) return `${trimmed(units / 1_000)}K`;
  return trimmed(units);
}

const trimmed = (value: number): string => String(Math.round(value * 100) / 100);

/** Parse a typed amount into minor units; return null if it is not an amount. */
export function typed(text: string, currency: string): number | null {
  const said = text.replace(/[\s,_]/g, "");
  const digits = digitsOf(currency);
  const match = /^(\d{1,12})(?:\.(\d+))?$/.exec(said);
  if (!match) return null;
  const part = match[2] ?? "";
  if (part.length > digits) return null;
  return Number(match[1]) * 10 ** digits + Number(part.padEnd(digits, "0") || 0);
}

const digits = new Map<string, number>();

/** Return the number of decimals of a currency. Building a format takes long, so that the number is kept. */
export function digitsOf(currency: string): number {
  const known = digits.get(currency);
  if (known !== undefined) return known;
  const format = currency ? new Intl.NumberFormat("en", { style: "currency", currency }) : null;
  const found = format?.resolvedOptions().maximumFractionDigits ?? 2;
  digits.set(currency, found);
  return found;
}
