// Format timestamps, in microseconds of UTC, in the house's time zone and by the reader's locale.

import { session } from "./session.svelte.ts";
import { locale } from "../texts/language.svelte.ts";

/** Format a timestamp as day and time. */
export function when(moment: number): string {
  const zone = session.house?.time_zone;
  return new Intl.DateTimeFormat(locale(), {
    dateStyle: "medium",
    timeStyle: "medium",
    ...(zone ? { timeZone: zone } : {}),
  }).format(moment / 1000);
}

/** Format "2023-10-06T08:00:00+08:00" as day and local time of the jurisdiction, and a day without a time as a day. */
export function dayOf(date: string): string {
  const wall = new Date(`${date.slice(0, 16)}${date.includes("T") ? "" : "T00:00"}Z`);
  if (Number.isNaN(wall.getTime())) return date;
  const time = date.includes("T") ? { timeStyle: "short" as const } : {};
  return new Intl.DateTimeFormat(locale(), { dateStyle: "medium", ...time, timeZone: "UTC" }).format(wall);
}
