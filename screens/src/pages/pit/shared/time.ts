// Format timestamps, in microseconds of UTC, in a time zone and the reader's language.

import { locale } from "../../../texts/language.svelte.ts";

/** Format a timestamp with day and time. */
export const dayAndTime = (at: number, zone: string): string =>
  format(at, { timeZone: zone, dateStyle: "medium", timeStyle: "medium" });

/** Format the time of day, to the second. */
export const timeOfDay = (at: number, zone: string): string => format(at, { timeZone: zone, timeStyle: "medium" });

const format = (at: number, options: Intl.DateTimeFormatOptions): string =>
  new Intl.DateTimeFormat(locale(), options).format(at / 1000);
