// Irregularities in words, as the dealer's page has them.

import { t } from "../../texts/irregularities.ts";

/** An irregularity in words; one that is not known here by its own name. */
export function irregularity(name: string): string {
  return name in t.all.en ? t(name as Parameters<typeof t>[0]) : name;
}
