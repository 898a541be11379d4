import { afterEach, expect, test } from "vitest";
import { add } from "./catalogues.ts";
import { gameTitle } from "./games.ts";
import { language } from "./language.svelte.ts";
import { bookName, gameName, layoutName } from "./rulebooks.ts";
import hant from "./zh-Hant.json";

const book = (id: string, title: string, operator: string, ...layouts: string[]) => ({
  id,
  title,
  operator,
  jurisdiction: "Macau",
  games: layouts.map((layout) => `${id}/${layout}`),
});
const BOOKS = [
  book("sg-rws-tai-sai-v6", "Tai Sai", "Resort", "a", "x"),
  book("macau-sic-bo", "Sic Bo (Macau)", "", "main"),
  book("my-game", "My Game", "", "main"),
];

add("zh-Hant", hant);
afterEach(() => {
  language.now = "en";
});

test("a game is named by its rulebook, its casino or country, and its layout", () => {
  expect(gameName("sg-rws-tai-sai-v6/a", BOOKS)).toBe("Tai Sai (Resort), layout A");
  expect(gameName("sg-rws-tai-sai-v6/x", BOOKS)).toBe("Tai Sai (Resort), layout X");
  expect(gameName("macau-sic-bo/main", BOOKS)).toBe("Sic Bo (Macau)");
  expect(gameName("of/nothing", BOOKS)).toBe("of/nothing");
});

test("a translated game is named without its casino, and others by their rulebook", () => {
  language.now = "zh-Hant";

  expect(BOOKS.map(bookName)).toEqual(["骰寶", "骰寶（澳門）", "My Game (Macau)"]);
  expect(gameName("sg-rws-tai-sai-v6/a", BOOKS)).toBe("骰寶，佈局 A");
  expect(layoutName("sg-rws-tai-sai-v6/x", BOOKS[0]!)).toBe("佈局 X");
  expect(gameTitle("sg-rws-tai-sai-v6/a", "Tai Sai, layout A")).toBe("骰寶，佈局 A");
  expect(gameTitle("my-game/main", "My Game")).toBe("My Game");
});
