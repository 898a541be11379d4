// Format the odds of a box and the name of its family.

import type { BoxView } from "../api/schema.d.ts";
import { language } from "./language.svelte.ts";
import { t, textOr } from "./texts.ts";

/** Format odds such as "6 to 1". */
export function oddsText(odds: string): string {
  const found = /^(\d+) to (\d+)$/.exec(odds);
  return found ? t("box.odds", { a: found[1]!, b: found[2]! }) : odds;
}

/** Format the odds of each line of a box. */
export const oddsOfBox = (box: Pick<BoxView, "lines">): string =>
  box.lines.map((line) => oddsText(line.odds)).join(" / ");

/** Return the name of a family; in English, the rulebook's own. */
export function familyName(box: Pick<BoxView, "family" | "name">): string {
  if (language.now === "en") return box.name;
  return textOr(`box.families.${box.family}`, textOr(`box.family.${box.family}`, box.name));
}
