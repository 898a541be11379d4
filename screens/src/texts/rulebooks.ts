// Name games by their rulebook, where several rulebooks are listed.

import type { RulebookLine } from "../api/schema.d.ts";
import { bookTitle } from "./games.ts";
import { t, textOr } from "./texts.ts";

type Book = Pick<RulebookLine, "id" | "title" | "operator" | "jurisdiction" | "games">;

/** Return the name of a rulebook with the casino or the country that it is of, unless the title is of one alone. */
export function bookName({ id, title, operator, jurisdiction }: Book): string {
  const name = bookTitle(id, title);
  const origin = operator || jurisdiction;
  return name === title && origin && !title.includes(origin) ? `${title} (${origin})` : name;
}

/** Return the name of a game within its rulebook: the layout, or the title if the rulebook has only one. */
export function layoutName(game: string, book: Book): string {
  if (book.games.length === 1) return bookTitle(book.id, book.title);
  const layout = game.split("/")[1] ?? game;
  return textOr(`game.layout.${layout}`, t("game.other-layout", { layout: layout.toUpperCase() }));
}

/** Return the full name of a game; its id if it belongs to none of the rulebooks. */
export function gameName(game: string, books: readonly Book[]): string {
  const book = books.find((each) => each.games.includes(game));
  if (!book) return game;
  if (book.games.length === 1) return bookName(book);
  return t("game.with-layout", { game: bookName(book), layout: layoutName(game, book) });
}
