// Names of irregularities.

import { textOr } from "./texts.ts";

/** The name of an irregularity; a cause that staff worded themselves stays as it is. */
export const causeName = (cause: string): string => textOr(`irregularity.${cause}`, cause);
