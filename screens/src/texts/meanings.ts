// When a box wins, in the language of the screen. The house says it in English, made of a few
// phrases; each is put into Chinese, and a phrase that is not known stays as the house said it.

import type { BoxView } from "../api/schema.d.ts";
import { faceName } from "./boxes.ts";
import { language } from "./language.svelte.ts";
import { texts } from "./texts.ts";

export { familyName, oddsOfBox, oddsText } from "./paying.ts";

export const meaningTexts = texts(
  {
    total: "the dice total {of}",
    odd: "the total is odd",
    even: "the total is even",
    shows: "at least one die shows {of}",
    count: "one, two or three dice show {of}",
    both: "{of} both appear",
    pair: "two or three dice show {of}",
    "any-triple": "all dice show the same face",
    triple: "all three dice show {of}",
    different: "the dice show three different ones of {of}",
    "pair-within": "two or three dice show the same one of {of}",
    "exact-pair": "exactly two dice show the same one of {of}",
    within: "every die shows {of}",
    exactly: "the dice show {of}",
    "not-triple": ", but not on a triple",
    throws: ", in each of {of} throws",
    or: "; or ",
    and: ", ",
  },
  {
    total: "三顆骰總和為 {of}",
    odd: "總和為單數",
    even: "總和為雙數",
    shows: "至少一顆骰出現 {of}",
    count: "一、二或三顆骰出現 {of}",
    both: "{of} 同時出現",
    pair: "兩顆或三顆骰出現 {of}",
    "any-triple": "三顆骰相同",
    triple: "三顆骰皆為 {of}",
    different: "三顆骰為 {of} 之中三個不同的數",
    "pair-within": "兩顆或三顆骰出現 {of} 之中的同一個",
    "exact-pair": "恰好兩顆骰出現 {of} 之中的同一個",
    within: "每顆骰皆為 {of} 之一",
    exactly: "三顆骰為 {of}",
    "not-triple": "，圍骰除外",
    throws: "，連續 {of} 擲每擲皆如此",
    or: "；或",
    and: "、",
  },
  {
    total: "三颗骰总和为 {of}",
    odd: "总和为单数",
    even: "总和为双数",
    shows: "至少一颗骰出现 {of}",
    count: "一、二或三颗骰出现 {of}",
    both: "{of} 同时出现",
    pair: "两颗或三颗骰出现 {of}",
    "any-triple": "三颗骰相同",
    triple: "三颗骰皆为 {of}",
    different: "三颗骰为 {of} 之中三个不同的数",
    "pair-within": "两颗或三颗骰出现 {of} 之中的同一个",
    "exact-pair": "恰好两颗骰出现 {of} 之中的同一个",
    within: "每颗骰皆为 {of} 之一",
    exactly: "三颗骰为 {of}",
    "not-triple": "，围骰除外",
    throws: "，连续 {of} 掷每掷皆如此",
    or: "；或",
    and: "、",
  },
);
const t = meaningTexts;

type Phrase = Exclude<Parameters<typeof t>[0], "or" | "and" | "not-triple" | "throws">;
// In this order: "the dice show" begins two of them.
const PHRASES: readonly Phrase[] = [
  "total",
  "odd",
  "even",
  "shows",
  "count",
  "both",
  "pair-within",
  "exact-pair",
  "pair",
  "any-triple",
  "triple",
  "different",
  "within",
  "exactly",
];

/** Say when a box wins. */
export function meaningOf(box: Pick<BoxView, "meaning">): string {
  if (language.now === "en") return box.meaning;
  const [, said = "", throws] = /^(.*?)(?:, in each of (\d+) throws)?$/.exec(box.meaning) ?? [];
  const ways = said.split(t.all.en.or).map(translated);
  return ways.join(t("or")) + (throws ? t("throws", { of: throws }) : "");
}

function translated(way: string): string {
  const unless = t.all.en["not-triple"];
  const said = way.endsWith(unless) ? way.slice(0, -unless.length) : way;
  for (const phrase of PHRASES) {
    const [before = "", after = ""] = t.all.en[phrase].split("{of}");
    if (!said.startsWith(before) || !said.endsWith(after)) continue;
    if (!t.all.en[phrase].includes("{of}") && said !== before) continue;
    const of = said.slice(before.length, said.length - after.length);
    return t(phrase, { of: listed(of) }) + (said === way ? "" : t("not-triple"));
  }
  return way;
}

const listed = (of: string): string =>
  of
    .split(/, | and | or /)
    .map(faceName)
    .join(t("and"));
