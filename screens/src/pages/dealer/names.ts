// Name colours and clauses in the user's language.

import type { Step } from "../../api/schema.d.ts";
import { t, textOr } from "../../texts/texts.ts";
import { clausesOf } from "./procedure.ts";

export const colourName = (colour: string): string => textOr(`dealer.colour.${colour}`, colour);

/** Return the clauses of the table's own rulebook behind a rule as a text; empty if it has none. */
export function clauseText(rule: { clause: Step["clause"] }): string {
  const clause = clausesOf(rule);
  return clause ? t("dealer.general.clauses", { clause }) : "";
}
