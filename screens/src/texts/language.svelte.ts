// Hold the language of the screens: chosen by the user, stored in the browser, changed without a reload.

import { readText, writeText } from "../lib/storage.ts";
import { isLoaded, LANGUAGES, load } from "./catalogues.ts";
import type { Language } from "./catalogues.ts";

export const NAMES: Record<Language, string> = { en: "English", "zh-Hant": "繁體中文", "zh-Hans": "简体中文" };

const STORED_AS = "language";
const FIRST_RETRY_MS = 1000;
const LAST_RETRY_MS = 30_000;

export const language = $state<{ now: Language }>({ now: "en" });

let wanted: Language = "en";
let retry: ReturnType<typeof setTimeout> | undefined;

/** Load the stored language or the browser's; fall back to English if its texts cannot be loaded. */
export async function begin(): Promise<void> {
  const tags = [readText(STORED_AS) ?? "", ...navigator.languages];
  await switchTo(tags.map(languageOf).find((each) => each !== undefined) ?? "en");
  while (!isLoaded(language.now)) await load(language.now).catch(() => pause(FIRST_RETRY_MS));
}

export function choose(chosen: Language): Promise<void> {
  writeText(STORED_AS, chosen);
  return switchTo(chosen);
}

/** Switch to a language once its texts are loaded; until then keep the present one, and retry. */
async function switchTo(chosen: Language, retryMs = FIRST_RETRY_MS): Promise<void> {
  wanted = chosen;
  clearTimeout(retry);
  try {
    await load(chosen);
  } catch {
    if (wanted === chosen) retry = setTimeout(() => switchTo(chosen, Math.min(2 * retryMs, LAST_RETRY_MS)), retryMs);
    return;
  }
  if (wanted !== chosen) return;
  language.now = chosen;
  document.documentElement.lang = chosen;
}

/** Return the locale for dates: the browser's variety of the present language, or a 24-hour one. */
export function locale(): string {
  const own = navigator.languages.find((tag) => languageOf(tag) === language.now);
  return own ?? (language.now === "en" ? "en-GB" : language.now);
}

/** Return the language for a tag such as "zh-HK". */
function languageOf(tag: string): Language | undefined {
  const exact = LANGUAGES.find((each) => each === tag);
  if (exact) return exact;
  if (/^zh\b.*(hant|tw|hk|mo)/i.test(tag)) return "zh-Hant";
  if (/^zh\b/i.test(tag)) return "zh-Hans";
  return /^en\b/i.test(tag) ? "en" : undefined;
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
