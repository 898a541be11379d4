// Name irregularities in the user's language.

import { listed, textOr } from "./texts.ts";

/** Return the name of an irregularity; a cause in the staff's own words is returned unchanged. */
export const causeName = (cause: string): string => textOr(`irregularity.${cause}`, cause);

/** Return the names of the irregularities that lock a table. */
export const causeNames = (causes: readonly string[]): string => listed(causes.map(causeName));
