// Words for whoever has the dice.

import { texts } from "../../texts/texts.ts";

export const s = texts(
  {
    shooter: "The shooter",
    "shooter-none": "Nobody has the dice.",
    "shooter-you": "You have the dice.",
    "shooter-other": "Another player has the dice.",
    "shooter-throws": "{done} of {of} throws won",
    "shooter-stake": "Your locked bet: {amount}",
    "shooter-choose": "Choose {chosen} of the {offered} dice",
    "shooter-die": "Die {die}",
    "shooter-take": "Take these dice",
    "shooter-must": "Place a bet on “{box}” before you throw; it is locked once placed.",
    "shooter-throw": "Throw the dice",
  },
  {
    shooter: "擲骰者",
    "shooter-none": "目前無人持骰。",
    "shooter-you": "骰子在您手上。",
    "shooter-other": "骰子在另一位玩家手上。",
    "shooter-throws": "已贏 {done} 次，共 {of} 次",
    "shooter-stake": "您的鎖定注碼：{amount}",
    "shooter-choose": "從 {offered} 顆骰子中選 {chosen} 顆",
    "shooter-die": "第 {die} 顆骰子",
    "shooter-take": "選用這些骰子",
    "shooter-must": "擲骰前須先在「{box}」下注；下注後即鎖定。",
    "shooter-throw": "擲骰",
  },
  {
    shooter: "掷骰者",
    "shooter-none": "目前无人持骰。",
    "shooter-you": "骰子在您手上。",
    "shooter-other": "骰子在另一位玩家手上。",
    "shooter-throws": "已赢 {done} 次，共 {of} 次",
    "shooter-stake": "您的锁定注码：{amount}",
    "shooter-choose": "从 {offered} 颗骰子中选 {chosen} 颗",
    "shooter-die": "第 {die} 颗骰子",
    "shooter-take": "选用这些骰子",
    "shooter-must": "掷骰前须先在“{box}”下注；下注后即锁定。",
    "shooter-throw": "掷骰",
  },
);
