// The language of the screens: chosen by the person, kept by the browser, changed without reload.

export const LANGUAGES = ["en", "zh-Hant", "zh-Hans"] as const;
export type Language = (typeof LANGUAGES)[number];
export const NAMES: Record<Language, string> = { en: "English", "zh-Hant": "繁體中文", "zh-Hans": "简体中文" };

const KEPT = "threedice.language";

export const language = $state<{ now: Language }>({ now: initial() });

export function speak(chosen: Language): void {
  language.now = chosen;
  document.documentElement.lang = chosen;
  try {
    localStorage.setItem(KEPT, chosen);
  } catch {
    // a browser that keeps nothing still shows what was chosen
  }
}

function initial(): Language {
  if (typeof document === "undefined") return "en";
  const kept = stored();
  const wished = kept ? [kept] : navigator.languages;
  const found = wished.map(known).find((each) => each !== undefined) ?? "en";
  document.documentElement.lang = found;
  return found;
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
