// Count chips by denomination. Counts are by chip: a value chip is named by its value in minor units, a coloured chip
// by its colour. Pure.

import { short } from "../lib/money.ts";
import { number } from "../lib/numbers.ts";
import { faceValue } from "../table/chips.ts";
import { listed, t, textOr } from "../texts/texts.ts";

export type Counts = Readonly<Record<string, number>>;

/** The colours of chips without a printed value. */
export const COLOURS = ["red", "blue", "green", "yellow", "pink", "white", "brown", "lavender"] as const;

/** The values of notes and coins in units of a currency with two decimals, the largest first. */
const CASH = [1000, 500, 100, 50, 20, 10, 5, 2, 1, 0.5, 0.2, 0.1, 0.05];

const MOST_CHIPS = 1_000_000;

export const isValueChip = (chip: string): boolean => /^\d+$/.test(chip);

/** Return chips in the order of a rack: value chips from the largest down, then coloured ones. */
export function inRackOrder(chips: Iterable<string>): string[] {
  return [...new Set(chips)].sort((a, b) => {
    if (isValueChip(a) && isValueChip(b)) return Number(b) - Number(a);
    return isValueChip(a) ? -1 : isValueChip(b) ? 1 : a < b ? -1 : 1;
  });
}

/** Return the chips that a rack can hold: its denominations, and colours if its game has them. */
export function chipsOfRack(denominations: readonly number[], kinds: readonly string[]): string[] {
  return inRackOrder([...denominations.map(String), ...(kinds.includes("non-value") ? COLOURS : [])]);
}

export const cashNames = (): string[] => CASH.map((each) => String(Math.round(each * 100)));

/** Name a chip by its value or its colour. */
export const chipName = (chip: string, currency: string): string =>
  isValueChip(chip) ? short(Number(chip), currency) : textOr(`dealer.colour.${chip}`, chip);

/** Describe counts in one line: "4 × 25, 10 × red". */
export const countsText = (counts: Counts, currency: string): string => inLine(counts, currency, number);

/** Describe differences between counts in one line: "−1 × 25, +2 × 1". */
export const variancesText = (variances: Counts, currency: string): string => inLine(variances, currency, signed);

function inLine(counts: Counts, currency: string, written: (count: number) => string): string {
  const parts = inRackOrder(Object.keys(counts))
    .filter((chip) => counts[chip])
    .map((chip) => t("dealer.payments.chip", { count: written(counts[chip]!), chip: chipName(chip, currency) }));
  return listed(parts) || t("chips.none");
}

/** Write a difference between counts with its sign. */
export const signed = (count: number): string =>
  count > 0 ? `+${number(count)}` : count < 0 ? `−${number(-count)}` : "0";

/** Parse typed numbers of chips; an empty field is none. Return null if all are empty or one is not a number. */
export function parseCounts(typed: Readonly<Record<string, string>>): Counts | null {
  const entries = Object.entries(typed)
    .map(([chip, text]) => [chip, text.replace(/[\s,]/g, "")] as const)
    .filter(([, text]) => text);
  if (!entries.length || entries.some(([, text]) => !isCount(text))) return null;
  return Object.fromEntries(entries.map(([chip, text]) => [chip, Number(text)] as const).filter(([, count]) => count));
}

/** Return counts as texts to edit. */
export const typedCounts = (counts: Counts | null): Record<string, string> =>
  Object.fromEntries(Object.entries(counts ?? {}).map(([chip, count]) => [chip, String(count)]));

export const isCount = (text: string): boolean => /^\d{1,7}$/.test(text) && Number(text) <= MOST_CHIPS;

/** Return the counts in a command that moves or counts chips or cash; null if it has none. */
export function countsOf(command: object): Counts | null {
  const said = command as Record<string, unknown>;
  const found = said["rack"] ?? said["counts"] ?? said["counted"] ?? said["notes"];
  return found && typeof found === "object" ? (found as Counts) : null;
}

export { faceValue };
