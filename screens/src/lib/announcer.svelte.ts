// Announce texts to screen readers, and by voice and bell if the user has turned sound on.

import { untrack } from "svelte";
import { readText, writeText } from "./storage.ts";

export const said = $state({ polite: "", assertive: "" });

const STORED_AS = "sound";
export const sound = $state({ on: readText(STORED_AS) === "on" });

export function setSound(on: boolean): void {
  sound.on = on;
  writeText(STORED_AS, on ? "on" : "off");
  if (on) bell();
}

/** Announce a text to screen readers; `now` interrupts the text being read. */
export function announce(text: string, now = false): void {
  const place = now ? "assertive" : "polite";
  const before = untrack(() => said[place]); // an effect that announces must not depend on announcements
  said[place] = before === text ? `${text}\u00a0` : text;
}

/** Speak an announcement of the rulebook, in its words and language. */
export function call(text: string, lang = "en"): void {
  announce(text, true);
  if (!sound.on || !("speechSynthesis" in window)) return;
  const words = new SpeechSynthesisUtterance(text);
  words.lang = lang;
  speechSynthesis.cancel();
  speechSynthesis.speak(words);
}

let audio: AudioContext | null = null;

/** Ring once: two decaying partials, like a table bell. */
export function bell(): void {
  if (!sound.on || !("AudioContext" in window)) return;
  audio ??= new AudioContext();
  const start = audio.currentTime;
  for (const [frequency, loudness] of [
    [1318, 0.25],
    [3290, 0.08],
  ] as const) {
    const tone = audio.createOscillator();
    const fading = audio.createGain();
    tone.frequency.value = frequency;
    fading.gain.setValueAtTime(loudness, start);
    fading.gain.exponentialRampToValueAtTime(0.0001, start + 1.4);
    tone.connect(fading).connect(audio.destination);
    tone.start(start);
    tone.stop(start + 1.5);
  }
}
