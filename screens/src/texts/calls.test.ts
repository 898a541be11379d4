import { afterEach, expect, test } from "vitest";
import { add } from "./catalogues.ts";
import { announcementOf, callOf } from "./calls.ts";
import { language } from "./language.svelte.ts";
import hans from "./zh-Hans.json";
import hant from "./zh-Hant.json";

const NUMBERS = { calls: ["triple 1, total 3"], faces: ["1", "2", "3", "4", "5", "6"], conduct: { call: { total: "total {total}" } } }; // prettier-ignore
const SYMBOLS = { calls: [], faces: ["crown", "anchor", "spade", "heart", "diamond", "club"], conduct: { call: { total: "" } } }; // prettier-ignore

afterEach(() => {
  language.now = "en";
});

test("a call in English is in the rulebook's words", () => {
  expect(callOf(NUMBERS, [1, 1, 1])).toBe("triple 1, total 3");
  expect(announcementOf("Place your Bets, please")).toBe("Place your Bets, please");
  expect(announcementOf(undefined)).toBe("");
});

test("a call in Chinese names faces ascending, doubles and triples, and the total", () => {
  add("zh-Hant", hant);
  language.now = "zh-Hant";
  expect(callOf(NUMBERS, [6, 1, 3])).toBe("1、3、6，共 10 點");
  expect(callOf(NUMBERS, [5, 2, 5])).toBe("2、雙 5，共 12 點");
  expect(callOf(NUMBERS, [4, 4, 4])).toBe("圍骰 4，共 12 點");
  expect(callOf(SYMBOLS, [2, 1, 1])).toBe("雙 皇冠、船錨");
});

test("announcements of all rulebooks are known in Chinese", () => {
  add("zh-Hans", hans);
  language.now = "zh-Hans";
  const said = ["Place your Bets, please", "Place your bets", "No more Bets", "No spin", "No Throw"];
  expect(said.map(announcementOf)).toEqual(["请下注", "请下注", "停止下注", "此局无效", "此掷无效"]);
});
