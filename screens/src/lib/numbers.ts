// Format numbers by the language of the screens. Its regions are not used: some write a comma for the decimal point,
// and amounts are also typed.

import { language } from "../texts/language.svelte.ts";

const formats = new Map<string, Intl.NumberFormat>();

/** Format a number with a fixed count of decimals, by default none; with `sign`, a positive number has a plus. */
export function number(value: number, digits = 0, sign = false): string {
  const key = `${language.now} ${digits} ${sign}`;
  let format = formats.get(key);
  if (!format) {
    format = new Intl.NumberFormat(language.now, {
      minimumFractionDigits: digits,
      maximumFractionDigits: digits,
      signDisplay: sign ? "exceptZero" : "auto",
    });
    formats.set(key, format);
  }
  return format.format(value);
}

/** Format 2.7778 percent as "2.78 %". */
export const percent = (value: number, digits: number): string => `${number(value, digits)} %`;
