// Announce texts to screen readers, and by voice and bell if the user has turned sound on.

import { untrack } from "svelte";
import type { Language } from "../texts/catalogues.ts";
import { language } from "../texts/language.svelte.ts";
import { sound } from "./sounds.svelte.ts";

export { bell } from "./sounds.svelte.ts";

export const said = $state({ polite: "", assertive: "" });

/** Announce a text to screen readers; `now` interrupts the text being read. */
export function announce(text: string, now = false): void {
  const place = now ? "assertive" : "polite";
  const before = untrack(() => said[place]); // an effect that announces must not depend on announcements
  said[place] = before === text ? `${text}\u00a0` : text;
}

/** The languages of the voices: traditional characters are spoken as in Hong Kong and Macau. */
const VOICES: Record<Language, string> = { en: "en-GB", "zh-Hant": "zh-HK", "zh-Hans": "zh-CN" };

/** Speak a call or an announcement in the user's language. */
export function call(text: string): void {
  announce(text, true);
  if (!sound.on || !("speechSynthesis" in window)) return;
  const words = new SpeechSynthesisUtterance(text);
  words.lang = VOICES[language.now];
  speechSynthesis.cancel();
  speechSynthesis.speak(words);
}
