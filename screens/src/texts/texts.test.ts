import { afterEach, expect, test } from "vitest";
import { boxName, faceName } from "./boxes.ts";
import { add } from "./catalogues.ts";
import { language } from "./language.svelte.ts";
import { meaningOf, oddsText } from "./meanings.ts";
import { labelled, listed, t, textOr } from "./texts.ts";
import hant from "./zh-Hant.json";

add("zh-Hant", hant);
afterEach(() => {
  language.now = "en";
});

test("placeholders are replaced by values", () => {
  expect(t("common.round", { round: 7 })).toBe("Round 7");
});

test("a placeholder without a value stays, so that it is noticed", () => {
  expect(t("common.round")).toBe("Round {round}");
});

test("the language changes every text", () => {
  language.now = "zh-Hant";
  expect(t("common.round", { round: 7 })).toBe("第 7 局");
});

test("names in a line have the separator of the language", () => {
  expect(listed(["1", "2"])).toBe("1, 2");
  language.now = "zh-Hant";
  expect(listed(["1", "2"])).toBe("1、2");
});

test("a label has the colon of the language, and the end of a layout its brackets", () => {
  expect([labelled("Faulty", "{text}"), boxName("big@left")]).toEqual(["Faulty: {text}", "Big (left)"]);
  language.now = "zh-Hant";
  expect([labelled("故障", "鈴"), boxName("big@left")]).toEqual(["故障：鈴", "大（左）"]);
});

test("data without a text is shown as it is, braces and all", () => {
  expect(textOr("irregularity.{round}", "a {round}", { round: 1 })).toBe("a {round}");
});

test.each([
  ["total:9", "Total 9"],
  ["big@left", "Big (left)"],
  ["domino:1-2", "Domino 1-2"],
  ["double:crown-heart", "Double crown heart"],
  ["unheard-of", "unheard-of"],
])("the spot %s is called %s", (spot, name) => {
  expect(boxName(spot)).toBe(name);
});

test("a face is a number or a symbol", () => {
  expect(faceName("6")).toBe("6");
  language.now = "zh-Hant";
  expect(faceName("crown")).toBe("皇冠");
});

test("the server's phrases are translated, and others are shown as they are", () => {
  const meaning = "the dice total 4, 5 or 6, but not on a triple; or something new, in each of 3 throws";
  expect(meaningOf({ meaning })).toBe(meaning);
  language.now = "zh-Hant";
  expect(meaningOf({ meaning })).toBe("三顆骰總和為 4、5、6，圍骰除外；或something new，連續 3 擲每擲皆如此");
  expect(oddsText("6 to 1")).toBe("1 賠 6");
});
