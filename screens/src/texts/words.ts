// The words that the build put beside the code: one file for each language, fetched when somebody
// wants to read it.

import { ADDRESSES } from "./addresses.ts";
import type { Language } from "./language.svelte.ts";

type Words = Record<string, Record<string, string>>;

const PATIENCE_MS = 10_000;
const fetched: Partial<Record<Language, Words>> = {};

/** The words of one `texts()`, by the id that the build gave it. */
export const wordsOf = (id: string, language: Language): Record<string, string> | undefined => fetched[language]?.[id];

/** Fetch the words of a language, unless they are here. */
export async function fetchWords(language: Language): Promise<void> {
  const address = ADDRESSES[language];
  if (!address || fetched[language]) return;
  const answer = await fetch(address, { signal: AbortSignal.timeout(PATIENCE_MS) });
  if (!answer.ok) throw new Error(`HTTP ${answer.status}`);
  fetched[language] = (await answer.json()) as Words;
}
