// Name opening checks in the user's language.

import { textOr } from "../../texts/texts.ts";

/** Return the name of a check; for an unknown one, the words of the rulebook. */
export const checkName = (name: string, what?: string): string => textOr(`dealer.checks.check.${name}`, what || name);
