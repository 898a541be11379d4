// What a box pays, and what its family is called, in the language of the screen.

import type { BoxView } from "../api/schema.d.ts";
import { boxTexts } from "./boxes.ts";
import { language } from "./language.svelte.ts";
import { texts } from "./texts.ts";

export const oddsTexts = texts({ odds: "{a} to {b}" }, { odds: "{b} 賠 {a}" }, { odds: "{b} 赔 {a}" });

/** "6 to 1" as people say it. */
export function oddsText(odds: string): string {
  const said = /^(\d+) to (\d+)$/.exec(odds);
  return said ? oddsTexts("odds", { a: said[1]!, b: said[2]! }) : odds;
}

/** What a box pays, way by way. */
export const oddsOfBox = (box: Pick<BoxView, "lines">): string =>
  box.lines.map((line) => oddsText(line.odds)).join(" / ");

/** The name of a family: the rulebook's own in English. */
export function familyName(box: Pick<BoxView, "family" | "name">): string {
  if (language.now === "en" || !(box.family in boxTexts.all.en)) return box.name;
  return boxTexts(box.family as Parameters<typeof boxTexts>[0], { faces: "" }).trim();
}
