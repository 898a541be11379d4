// Name games in the user's language; a game without a translation has the title of its rulebook.

import { language } from "./language.svelte.ts";
import { textOr } from "./texts.ts";

/** Return the title of a game and its layout, such as "Tai Sai, layout A" for `sg-rws-tai-sai-v6/a`. */
export function gameTitle(id: string, title: string): string {
  if (language.now === "en") return title;
  const [book = "", layout = ""] = id.split("/");
  const name = textOr(`game.title.${book}`, "");
  return name ? name + textOr(`game.layout.${layout}`, "") : title;
}
