// What a box is called, and when it wins, in the language of the screen. The rulebook says it in
// English; a family that no translation is known for keeps the rulebook's words.

import type { BoxView } from "../api/schema.d.ts";
import { language } from "../texts/language.svelte.ts";
import { texts } from "../texts/texts.ts";

const t = texts(
  {
    small: "Small",
    big: "Big",
    odd: "Odd",
    even: "Even",
    single: "Single {s}",
    total: "Total {s}",
    domino: "Domino {s}",
    double: "Double {s}",
    "any-triple": "Any Triple",
    triple: "Triple {s}",
    four: "Four numbers {s}",
    trio: "Three numbers {s}",
    pair: "Pair and single {s}",
    red: "Red",
    black: "Black",
    shooter: "Shooter's bet",
    other: "{name} {s}",
    crown: "crown",
    anchor: "anchor",
    spade: "spade",
    heart: "heart",
    diamond: "diamond",
    club: "club",
  },
  {
    small: "小",
    big: "大",
    odd: "單",
    even: "雙",
    single: "單骰 {s}",
    total: "總和 {s} 點",
    domino: "兩骰組合 {s}",
    double: "對子 {s}",
    "any-triple": "全圍",
    triple: "圍骰 {s}",
    four: "四數組合 {s}",
    trio: "三數組合 {s}",
    pair: "對子加單骰 {s}",
    red: "紅",
    black: "黑",
    shooter: "擲骰者注",
    other: "{name} {s}",
    crown: "皇冠",
    anchor: "船錨",
    spade: "黑桃",
    heart: "紅心",
    diamond: "方塊",
    club: "梅花",
  },
  {
    small: "小",
    big: "大",
    odd: "单",
    even: "双",
    single: "单骰 {s}",
    total: "总和 {s} 点",
    domino: "两骰组合 {s}",
    double: "对子 {s}",
    "any-triple": "全围",
    triple: "围骰 {s}",
    four: "四数组合 {s}",
    trio: "三数组合 {s}",
    pair: "对子加单骰 {s}",
    red: "红",
    black: "黑",
    shooter: "掷骰者注",
    other: "{name} {s}",
    crown: "皇冠",
    anchor: "船锚",
    spade: "黑桃",
    heart: "红心",
    diamond: "方块",
    club: "梅花",
  },
);

type Key = keyof (typeof t.all)["en"];
const known = (key: string): key is Key => key in t.all.en && key !== "other";

/** A face in words: a number stays a number. */
export const faceName = (face: string): string => (known(face) ? t(face) : face);

/** "Total 9", "Double 6", 總和 9 點: what people call a box. */
export function boxName(box: Pick<BoxView, "family" | "name" | "selection">): string {
  const s = box.selection.map(faceName).join("-");
  return known(box.family) ? t(box.family, { s }).trim() : t("other", { name: box.name, s }).trim();
}

/** The name of a whole family: in English as the rulebook has it. */
export function familyName(box: Pick<BoxView, "family" | "name">): string {
  if (language.now === "en" || !known(box.family)) return box.name;
  return t(box.family, { s: "" }).replace(/\s+/g, " ").trim();
}
