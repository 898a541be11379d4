// Look up texts in the user's language.

import { textIn } from "./catalogues.ts";
import type { Key } from "./catalogues.ts";
import { language } from "./language.svelte.ts";

/** The values of the placeholders: `{name}` is replaced by the value of `name`. */
export type Values = Record<string, string | number>;

/** Return the text of a key, with its placeholders replaced. */
export const t = (key: Key, values: Values = {}): string => textOr(key, key, values);

/** Return the text of a key that is built from data; the fallback if the catalogue lacks it. */
export function textOr(key: string, fallback: string, values: Values = {}): string {
  const text = textIn(language.now, key);
  return text === undefined ? fallback : filled(text, values);
}

/** Return names in one line, with the separator of the user's language. */
export const listed = (names: readonly string[]): string => names.join(t("common.list-separator"));

/** Return a text after its label, with the colon of the user's language. */
export const labelled = (label: string, text: string): string => t("common.labelled", { label, text });

/** Return a text with a capital letter, for the beginning of a line. */
export const capitalised = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

const filled = (text: string, values: Values): string =>
  text.replace(/\{(\w+)\}/g, (placeholder, name: string) => String(values[name] ?? placeholder));
