// Name rulebooks and games in the user's language; without a translation they have the titles of the rulebook.

import { language } from "./language.svelte.ts";
import { t, textOr } from "./texts.ts";

/** Return the title of a game and its layout, such as "Tai Sai, layout A" for `sg-rws-tai-sai-v6/a`. */
export function gameTitle(id: string, title: string): string {
  const [book = "", layout = ""] = id.split("/");
  const game = bookTitle(book, "");
  if (language.now === "en" || !game) return title;
  const named = textOr(`game.layout.${layout}`, "");
  return named ? t("game.with-layout", { game, layout: named }) : game;
}

/** Return the title of a rulebook, such as "Tai Sai" for `sg-rws-tai-sai-v6`. */
export const bookTitle = (book: string, title: string): string =>
  language.now === "en" ? title : textOr(`game.title.${book}`, title);
