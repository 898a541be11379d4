// Load the catalogues of texts, one JSON file per language, on demand. The keys of en.json are the keys of all of
// them; catalogues.test.ts compares the others with it.

import type en from "./en.json";
import enUrl from "./en.json?url";
import hansUrl from "./zh-Hans.json?url";
import hantUrl from "./zh-Hant.json?url";

export const LANGUAGES = ["en", "zh-Hant", "zh-Hans"] as const;
export type Language = (typeof LANGUAGES)[number];

/** A path to a text, such as "lobby.title". */
export type Key = Paths<typeof en>;
type Paths<T> = {
  [K in keyof T & string]: T[K] extends string ? K : `${K}.${Paths<T[K]>}`;
}[keyof T & string];

/** The JSON of a catalogue: texts, in groups of any depth. */
export interface Catalogue {
  readonly [name: string]: string | Catalogue;
}

const URLS: Record<Language, string> = { en: enUrl, "zh-Hant": hantUrl, "zh-Hans": hansUrl };
const TIMEOUT_MS = 10_000;
const loaded = new Map<Language, ReadonlyMap<string, string>>();

export const isLoaded = (language: Language): boolean => loaded.has(language);

/** Return the text of a key, or undefined if the catalogue of the language is not loaded or lacks it. */
export const textIn = (language: Language, key: string): string | undefined => loaded.get(language)?.get(key);

/** Load the catalogue of a language, unless it is loaded. */
export async function load(language: Language): Promise<void> {
  if (isLoaded(language)) return;
  const response = await fetch(URLS[language], { signal: AbortSignal.timeout(TIMEOUT_MS) });
  if (!response.ok) throw new Error(`HTTP ${response.status}`);
  add(language, (await response.json()) as Catalogue);
}

/** Add a catalogue that is already loaded. */
export function add(language: Language, catalogue: Catalogue): void {
  loaded.set(language, new Map(entries(catalogue)));
}

/** List every text of a catalogue with its path. */
export function entries(catalogue: Catalogue, path = ""): [string, string][] {
  return Object.entries(catalogue).flatMap(([name, value]) =>
    typeof value === "string" ? [[path + name, value]] : entries(value, `${path}${name}.`),
  );
}
