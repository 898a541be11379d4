// Format timestamps, in microseconds of UTC, in the house's time zone and the reader's language.

import { session } from "./session.svelte.ts";
import { language } from "../texts/language.svelte.ts";

/** Format a timestamp as day and time. */
export function when(moment: number): string {
  const zone = session.house?.time_zone;
  return new Intl.DateTimeFormat(language.now, {
    dateStyle: "medium",
    timeStyle: "medium",
    ...(zone ? { timeZone: zone } : {}),
  }).format(moment / 1000);
}
