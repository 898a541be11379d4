// Words in three languages. A page's texts stand beside it; a key that one language lacks does not
// compile, and a test compares the holes of every text.

import { language } from "./language.svelte.ts";
import type { Language } from "./language.svelte.ts";

export type Facts = Record<string, string | number>;

/** Return a way to say each key of `en` in the language of the moment; `{name}` is a hole. */
export function texts<T extends Record<string, string>>(
  en: T,
  hant: { [K in keyof T]: string },
  hans: { [K in keyof T]: string },
): Say<keyof T & string> {
  const all: Record<Language, { [K in keyof T]: string }> = { en, "zh-Hant": hant, "zh-Hans": hans };
  const say = (key: keyof T & string, facts: Facts = {}): string => filled(all[language.now][key], facts);
  return Object.assign(say, { all });
}

export type Say<K extends string> = ((key: K, facts?: Facts) => string) & {
  all: Record<Language, Record<K, string>>;
};

export function filled(text: string, facts: Facts): string {
  return text.replace(/\{(\w+)\}/g, (hole, name: string) => String(facts[name] ?? hole));
}
