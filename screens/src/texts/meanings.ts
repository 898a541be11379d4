// Translate the condition under which a box wins. The server describes it in English, in a few fixed phrases;
// unknown phrases are shown untranslated.

import type { BoxView } from "../api/schema.d.ts";
import { faceName } from "./boxes.ts";
import { language } from "./language.svelte.ts";
import { listed, t } from "./texts.ts";

export { familyName, oddsOfBox, oddsText } from "./paying.ts";

/** The server's phrases by their keys under `box.meaning`. Longer ones first: some begin alike. */
export const PHRASES = {
  total: "the dice total {of}",
  odd: "the total is odd",
  even: "the total is even",
  shows: "at least one die shows {of}",
  count: "one, two or three dice show {of}",
  both: "{of} both appear",
  "pair-within": "two or three dice show the same one of {of}",
  "exact-pair": "exactly two dice show the same one of {of}",
  "one-within": "exactly one die shows {of}",
  "two-within": "exactly two dice show {of}",
  pair: "two or three dice show {of}",
  "any-triple": "all dice show the same face",
  triple: "all three dice show {of}",
  different: "the dice show three different ones of {of}",
  within: "every die shows {of}",
  exactly: "the dice show {of}",
} as const;
export const OR = "; or ";
export const NOT_TRIPLE = ", but not on a triple";

/** Describe when a box wins. */
export function meaningOf(box: Pick<BoxView, "meaning">): string {
  if (language.now === "en") return box.meaning;
  const [, each = "", throws] = /^(.*?)(?:, in each of (\d+) throws)?$/.exec(box.meaning) ?? [];
  const ways = each.split(OR).map(translated);
  return ways.join(t("box.meaning.or")) + (throws ? t("box.meaning.throws", { of: throws }) : "");
}

function translated(way: string): string {
  const words = way.endsWith(NOT_TRIPLE) ? way.slice(0, -NOT_TRIPLE.length) : way;
  for (const [name, phrase] of Object.entries(PHRASES)) {
    const [before = "", after = ""] = phrase.split("{of}");
    if (!words.startsWith(before) || !words.endsWith(after)) continue;
    if (!phrase.includes("{of}") && words !== before) continue;
    const of = words.slice(before.length, words.length - after.length);
    const text = t(`box.meaning.${name as keyof typeof PHRASES}`, { of: facesIn(of) });
    return text + (words === way ? "" : t("box.meaning.not-triple"));
  }
  return way;
}

const facesIn = (of: string): string => listed(of.split(/, | and | or /).map(faceName));
