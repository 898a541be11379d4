// Words in three languages. A page's texts stand beside it; a key that one language lacks does not
// compile, and a test compares the holes of every text.

import { language } from "./language.svelte.ts";
import type { Language } from "./language.svelte.ts";
import { wordsOf } from "./words.ts";

export type Facts = Record<string, string | number>;

/** Return a way to say each key of `en` in the language of the moment; `{name}` is a hole. */
export function texts<T extends Record<string, string>>(
  en: T,
  hant: { [K in keyof T]: string },
  hans: { [K in keyof T]: string },
): Say<keyof T & string>;
// As the build leaves it: with an id, under which the words of other languages are fetched.
export function texts(
  en: Record<string, string>,
  hant: Record<string, string> | string,
  hans?: Record<string, string>,
): Say<string> {
  const all = typeof hant === "string" ? { en } : { en, "zh-Hant": hant, "zh-Hans": hans };
  const words = (now: Language) => (typeof hant === "string" ? wordsOf(hant, now) : all[now as "en"]) ?? en;
  const say = (key: string, facts: Facts = {}): string => filled(words(language.now)[key]!, facts);
  return Object.assign(say, { all });
}

export type Say<K extends string> = ((key: K, facts?: Facts) => string) & {
  all: { en: Record<K, string> };
};

export function filled(text: string, facts: Facts): string {
  return text.replace(/\{(\w+)\}/g, (hole, name: string) => String(facts[name] ?? hole));
}
