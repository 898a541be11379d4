// Parse and propose the denominations of a table's chips.

import { digitsOf, editable, typed } from "./money.ts";

/** The denominations proposed for a new table, in units of a currency with two decimals. */
const USUAL = [1, 5, 25, 100, 500, 1000];
const SEPARATORS = /[\s,;、，；]+/;

/** Return the denominations proposed for a new table; a currency without decimals has larger ones. */
export function usualChips(currency: string): number[] {
  return USUAL.map((each) => each * 100 * (digitsOf(currency) > 2 ? 10 : 1));
}

export const chipsText = (chips: readonly number[], currency: string): string =>
  chips.map((each) => editable(each, currency)).join(" ");

export type ChipsFault = { code: "none" } | { code: "amount" | "multiple" | "order"; text: string };

/** Parse denominations that are separated by spaces or commas; return the first fault if there is one. */
export function parseChips(text: string, currency: string): { chips: number[]; fault: ChipsFault | null } {
  const chips: number[] = [];
  const wrong = (code: "amount" | "multiple" | "order", word: string) => ({ chips, fault: { code, text: word } });
  for (const word of text.split(SEPARATORS).filter(Boolean)) {
    const chip = typed(word, currency);
    if (!chip) return wrong("amount", word);
    if (chips.length && chip <= chips.at(-1)!) return wrong("order", word);
    if (chips.length && chip % chips[0]!) return wrong("multiple", word);
    chips.push(chip);
  }
  return { chips, fault: chips.length ? null : { code: "none" } };
}

export interface ChipCount {
  chip: number;
  count: number;
}

/**
 * Return the fewest chips that make up an amount, the largest first. Every denomination is a multiple of the smallest;
 * what the smallest cannot make is left out.
 */
export function fewestChips(amount: number, chips: readonly number[]): ChipCount[] {
  const sorted = [...chips].filter((chip) => chip > 0).sort((a, b) => b - a);
  let best: number[] = [];
  let least = Infinity;

  function take(at: number, left: number, used: number, counts: readonly number[]): void {
    const chip = sorted[at];
    if (!left && used < least) [best, least] = [[...counts], used];
    if (!left || !chip) return;
    const next = sorted[at + 1];
    for (let count = Math.floor(left / chip); count >= 0; count--) {
      const rest = left - count * chip;
      if (used + count + (rest ? rest / (next ?? 0) : 0) >= least) return; // fewer of this chip need even more of others
      take(at + 1, rest, used + count, [...counts, count]);
      if (!next) return;
    }
  }

  const smallest = sorted.at(-1);
  if (smallest) take(0, amount - (amount % smallest), 0, []);
  return best.map((count, i) => ({ chip: sorted[i]!, count })).filter(({ count }) => count > 0);
}
