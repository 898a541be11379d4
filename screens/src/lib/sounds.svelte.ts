// Synthesise the sounds of a table, if the user has turned sound on. There are no sound files.

import { readText, writeText } from "./storage.ts";

/** Where sound is remembered: a board that shares a browser with a user keeps its own setting. */
export type Place = "sound" | "sound.board";

let place: Place = "sound";
const isOn = () => readText(place) === "on";
export const sound = $state({ on: isOn() });

export function setSound(on: boolean): void {
  sound.on = on;
  writeText(place, on ? "on" : "off");
  if (on) bell();
}

/** Use the setting of a results board until the returned function is called. */
export function onBoard(): () => void {
  const use = (next: Place) => {
    place = next;
    sound.on = isOn();
  };
  use("sound.board");
  return () => use("sound");
}

let audio: AudioContext | null = null;
let grains: AudioBuffer | null = null;

/** Ring once: two decaying partials, like a table bell. */
export function bell(): void {
  play((at) => {
    partial(at, 1318, 0.25, 1.4);
    partial(at, 3290, 0.08, 1.4);
  });
}

/** Rattle: three shakes of dice against the tumbler. */
export function tumble(): void {
  play((at) => {
    for (let hit = 0; hit < 12; hit++) knock(at + hit * 0.06 + (hit % 3) * 0.012, 0.05 + 0.05 * (hit % 2), 2600);
  });
}

/** One die lands: a dull knock with a short click. */
export function land(): void {
  play((at) => {
    partial(at, 150, 0.3, 0.12);
    knock(at, 0.14, 1500);
  });
}

/** A rising triad. */
export function win(): void {
  play((at) => [523, 659, 784, 1047].forEach((frequency, i) => partial(at + i * 0.09, frequency, 0.16, 0.5)));
}

/** Two falling notes, softer than a win. */
export function lose(): void {
  play((at) => [294, 220].forEach((frequency, i) => partial(at + i * 0.14, frequency, 0.11, 0.35)));
}

function play(score: (at: number) => void): void {
  if (!sound.on || !("AudioContext" in window)) return;
  audio ??= new AudioContext();
  score(audio.currentTime);
}

/** Play a tone that fades out within `seconds`. */
function partial(at: number, frequency: number, loudness: number, seconds: number): void {
  const tone = audio!.createOscillator();
  tone.frequency.value = frequency;
  tone.connect(fading(at, loudness, seconds));
  tone.start(at);
  tone.stop(at + seconds + 0.1);
}

/** Play a grain of filtered noise. */
function knock(at: number, loudness: number, frequency: number): void {
  grains ??= noise(audio!);
  const grain = audio!.createBufferSource();
  grain.buffer = grains;
  const filter = audio!.createBiquadFilter();
  filter.type = "bandpass";
  filter.frequency.value = frequency;
  grain.connect(filter).connect(fading(at, loudness, 0.05));
  grain.start(at);
}

function fading(at: number, loudness: number, seconds: number): GainNode {
  const gain = audio!.createGain();
  gain.gain.setValueAtTime(loudness, at);
  gain.gain.exponentialRampToValueAtTime(0.0001, at + seconds);
  gain.connect(audio!.destination);
  return gain;
}

function noise(context: AudioContext): AudioBuffer {
  const buffer = context.createBuffer(1, context.sampleRate * 0.06, context.sampleRate);
  const samples = buffer.getChannelData(0);
  for (let i = 0; i < samples.length; i++) samples[i] = Math.random() * 2 - 1;
  return buffer;
}
