// Texts in the user's language.

import { textIn } from "./catalogues.ts";
import type { Key } from "./catalogues.ts";
import { language } from "./language.svelte.ts";

/** What replaces the placeholders of a text: `{name}` by the value of `name`. */
export type Values = Record<string, string | number>;

/** The text of a key, with its placeholders replaced. */
export const t = (key: Key, values: Values = {}): string => textOr(key, key, values);

/** The text of a key that is put together from data; the fallback if the catalogue has none. */
export function textOr(key: string, fallback: string, values: Values = {}): string {
  const text = textIn(language.now, key);
  return text === undefined ? fallback : filled(text, values);
}

const filled = (text: string, values: Values): string =>
  text.replace(/\{(\w+)\}/g, (placeholder, name: string) => String(values[name] ?? placeholder));
