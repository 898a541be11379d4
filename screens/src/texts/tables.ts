// Title a table by its id, which people choose for a new table: "tai-sai-a" is "Tai Sai A", "7" is "Table 7".

import { t } from "./texts.ts";

const SMALL_WORDS = new Set(["and", "of", "the"]);
/** An id that is only a number or a short code needs the word "table". */
const SHORTEST = 4;

export function tableTitle(table: string): string {
  const words = table.split(/[-_.]+/).filter(Boolean);
  const title = words.map((word, i) => (i && SMALL_WORDS.has(word) ? word : capitalised(word))).join(" ");
  return words.length > 1 || (title.length >= SHORTEST && /^\D/.test(title))
    ? title
    : t("table.titled", { name: title });
}

/** Capitalise a word, or all of a short code such as "sg" or "p1". */
const capitalised = (word: string): string =>
  word.length <= 2 ? word.toUpperCase() : word.charAt(0).toUpperCase() + word.slice(1);
