// Say the calls and announcements of a rulebook in the user's language: in English in the rulebook's own words, in
// other languages in those of the catalogue.

import type { GameView } from "../api/schema.d.ts";
import { rollIndex } from "../lib/dice.ts";
import type { Roll } from "../lib/dice.ts";
import { faceName } from "./boxes.ts";
import { language } from "./language.svelte.ts";
import { listed, t, textOr } from "./texts.ts";

type Called = Pick<GameView, "calls" | "faces"> & {
  readonly conduct: { readonly call: Pick<GameView["conduct"]["call"], "total"> };
};

/** Return the dealer's call of a result: faces ascending, doubles and triples as one, then the total. */
export function callOf(game: Called, roll: Roll): string {
  if (language.now === "en") return game.calls[rollIndex(roll)] ?? "";
  const faces = [...new Set(roll)].sort();
  const parts = faces.map((face) => {
    const name = faceName(game.faces[face - 1] ?? String(face));
    const count = roll.filter((each) => each === face).length;
    return count === 1 ? name : t(count === 2 ? "call.double" : "call.triple", { face: name });
  });
  const sum = roll[0] + roll[1] + roll[2];
  return listed(parts) + (game.conduct.call.total ? t("call.total", { total: sum }) : "");
}

/** Return the words that the rulebook has the dealer announce, in the user's language. */
export const announcementOf = (words: string | undefined): string =>
  words ? (language.now === "en" ? words : textOr(`call.announcement.${keyOf(words)}`, words)) : "";

/** Return the key of an announcement: rulebooks differ in capitals and courtesy. */
const keyOf = (words: string): string =>
  words
    .toLowerCase()
    .replace(/, please$/, "")
    .replaceAll(" ", "-");
