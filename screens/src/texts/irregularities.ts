// Name irregularities in the user's language.

import { textOr } from "./texts.ts";

/** Return the name of an irregularity; a cause in the staff's own words is returned unchanged. */
export const causeName = (cause: string): string => textOr(`irregularity.${cause}`, cause);
