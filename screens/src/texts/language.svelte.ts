// The language of the screens: chosen by the person, kept by the browser, changed without reload.

import { fetchWords } from "./words.ts";

export const LANGUAGES = ["en", "zh-Hant", "zh-Hans"] as const;
export type Language = (typeof LANGUAGES)[number];
export const NAMES: Record<Language, string> = { en: "English", "zh-Hant": "繁體中文", "zh-Hans": "简体中文" };

const KEPT = "threedice.language";

export const language = $state<{ now: Language }>({ now: "en" });

let wanted: Language = "en";
let again: ReturnType<typeof setTimeout> | undefined;

/** Speak what this browser is used to, as soon as its words are there. */
export function begin(): Promise<void> {
  const kept = stored();
  const wished = kept ? [kept] : navigator.languages;
  return turnTo(wished.map(known).find((each) => each !== undefined) ?? "en");
}

export function speak(chosen: Language): Promise<void> {
  try {
    localStorage.setItem(KEPT, chosen);
  } catch {
    // a browser that keeps nothing still shows what was chosen
  }
  return turnTo(chosen);
}

/** Change over once the words are there; where they do not come, stay as it is and try again. */
async function turnTo(chosen: Language, pauseMs = 1000): Promise<void> {
  wanted = chosen;
  clearTimeout(again);
  try {
    await fetchWords(chosen);
  } catch {
    if (wanted === chosen) again = setTimeout(() => turnTo(chosen, Math.min(2 * pauseMs, 30_000)), pauseMs);
    return;
  }
  if (wanted !== chosen) return;
  language.now = chosen;
  document.documentElement.lang = chosen;
}

function stored(): string | null {
  try {
    return localStorage.getItem(KEPT);
  } catch {
    return null;
  }
}

function known(tag: string): Language | undefined {
  if ((LANGUAGES as readonly string[]).includes(tag)) return tag as Language;
  if (/^zh\b.*(hant|tw|hk|mo)/i.test(tag)) return "zh-Hant";
  if (/^zh\b/i.test(tag)) return "zh-Hans";
  return /^en\b/i.test(tag) ? "en" : undefined;
}
