// What boxes and faces are called in lists and labels, where the felt's own words are too long.

import { texts } from "./texts.ts";

const t = texts(
  {
    small: "Small",
    big: "Big",
    odd: "Odd",
    even: "Even",
    red: "Red",
    black: "Black",
    single: "Single {faces}",
    total: "Total {faces}",
    domino: "Domino {faces}",
    double: "Double {faces}",
    "any-triple": "Any triple",
    triple: "Triple {faces}",
    four: "Four {faces}",
    trio: "Trio {faces}",
    pair: "Pair {faces}",
    shooter: "Shooter's bet",
    left: "left",
    right: "right",
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
    red: "紅",
    black: "黑",
    single: "單骰 {faces}",
    total: "{faces} 點",
    domino: "骨牌 {faces}",
    double: "雙骰 {faces}",
    "any-triple": "全圍",
    triple: "圍骰 {faces}",
    four: "四號 {faces}",
    trio: "三號 {faces}",
    pair: "對子 {faces}",
    shooter: "擲骰者注",
    left: "左",
    right: "右",
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
    red: "红",
    black: "黑",
    single: "单骰 {faces}",
    total: "{faces} 点",
    domino: "骨牌 {faces}",
    double: "双骰 {faces}",
    "any-triple": "全围",
    triple: "围骰 {faces}",
    four: "四号 {faces}",
    trio: "三号 {faces}",
    pair: "对子 {faces}",
    shooter: "掷骰者注",
    left: "左",
    right: "右",
    crown: "皇冠",
    anchor: "船锚",
    spade: "黑桃",
    heart: "红心",
    diamond: "方块",
    club: "梅花",
  },
);
export const boxTexts = t;

type Key = Parameters<typeof t>[0];
const known = (key: string): key is Key => key in t.all.en;

/** A face of a die: its number, or its symbol's name. */
export const faceName = (face: string): string => (known(face) ? t(face) : face);

/** A box or a spot in a few words: `total:9` is "Total 9", `big@left` "Big (left)". */
export function boxName(spot: string): string {
  const [box = "", end] = spot.split("@");
  const [family = "", selection] = box.split(":");
  const faces =
    selection
      ?.split("-")
      .map(faceName)
      .join(selection.match(/[a-z]/) ? " " : "-") ?? "";
  const name = known(family) ? t(family, { faces }) : box;
  return end ? `${name} (${known(end) ? t(end) : end})` : name;
}
