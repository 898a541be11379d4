// Format and parse amounts. Amounts are whole minor units everywhere; only displayed and typed text has a decimal
// point.

import { language } from "../texts/language.svelte.ts";

const formats = new Map<string, Intl.NumberFormat>();

/**
 * Format 12345 cents as "123.45"; with `sign`, a gain has a plus. The currency is omitted: the screen shows it
 * once.
 */
export function money(amount: number, currency: string, sign = false): string {
  const key = `${language.now} ${currency} ${sign}`;
  let format = formats.get(key);
  if (!format) {
    const digits = digitsOf(currency);
    format = new Intl.NumberFormat(language.now, {
      minimumFractionDigits: digits,
      maximumFractionDigits: digits,
      signDisplay: sign ? "exceptZero" : "auto",
    });
    formats.set(key, format);
  }
  return format.format(amount / 10 ** digitsOf(currency));
}

/** Format like `money`, but omit zero decimals; for chips and limits. */
export function short(amount: number, currency: string): string {
  const whole = 10 ** digitsOf(currency);
  if (amount % whole) return money(amount, currency);
  return new Intl.NumberFormat(language.now, { maximumFractionDigits: 0 }).format(amount / whole);
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

export function digitsOf(currency: string): number {
  if (!currency) return 2;
  return new Intl.NumberFormat("en", { style: "currency", currency }).resolvedOptions().maximumFractionDigits ?? 2;
}
