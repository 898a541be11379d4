// Choose the colours of chips: by value, or by the colour assigned to a player.

import { digitsOf } from "../lib/money.ts";

export interface ChipColours {
  body: string;
  spots: string;
  ink: string;
}

// By value in whole units of the currency, after the convention of most casinos.
const BY_VALUE: readonly (readonly [number, ChipColours])[] = [
  [1, { body: "#e9e4d6", spots: "#2f5fa8", ink: "#1b2a40" }],
  [2.5, { body: "#e3a0b4", spots: "#7a1f3d", ink: "#3a0a1a" }],
  [5, { body: "#b3202e", spots: "#f6e7c8", ink: "#ffffff" }],
  [10, { body: "#1f55a5", spots: "#f3efe4", ink: "#ffffff" }],
  [25, { body: "#1c7a45", spots: "#f3efe4", ink: "#ffffff" }],
  [50, { body: "#c46a16", spots: "#fff3d6", ink: "#1c0f00" }],
  [100, { body: "#1d1d20", spots: "#e5c473", ink: "#ffffff" }],
  [500, { body: "#5b2a86", spots: "#f3d9ff", ink: "#ffffff" }],
  [1000, { body: "#e2b32e", spots: "#3a2a00", ink: "#241900" }],
  [5000, { body: "#7b3f1d", spots: "#f6d9b8", ink: "#ffffff" }],
  [10000, { body: "#0f6d7a", spots: "#d7f7ff", ink: "#ffffff" }],
  [100000, { body: "#8c1458", spots: "#ffd9ee", ink: "#ffffff" }],
];

// Colours assigned to players for chips without a printed value.
const BY_NAME: Record<string, ChipColours> = {
  red: { body: "#c22f3d", spots: "#ffffff", ink: "#ffffff" },
  blue: { body: "#2a66c0", spots: "#ffffff", ink: "#ffffff" },
  green: { body: "#22854f", spots: "#ffffff", ink: "#ffffff" },
  yellow: { body: "#f0cc3f", spots: "#5c4600", ink: "#2a2000" },
  orange: { body: "#dd7a1b", spots: "#ffffff", ink: "#1c0f00" },
  purple: { body: "#71399f", spots: "#ffffff", ink: "#ffffff" },
  lavender: { body: "#b7a4dd", spots: "#3b2a63", ink: "#1f1440" },
  violet: { body: "#71399f", spots: "#ffffff", ink: "#ffffff" },
  pink: { body: "#f0a3bd", spots: "#7a1f3d", ink: "#3a0a1a" },
  brown: { body: "#7b4a2a", spots: "#ffffff", ink: "#ffffff" },
  black: { body: "#1d1d20", spots: "#ffffff", ink: "#ffffff" },
  white: { body: "#efebe0", spots: "#6a6a6a", ink: "#1b1b1b" },
  grey: { body: "#7d8489", spots: "#ffffff", ink: "#ffffff" },
  turquoise: { body: "#1796a0", spots: "#ffffff", ink: "#04262a" },
};

/** Return the colours of a value chip: those of the largest usual chip that is worth no more. */
export function byValue(amount: number, currency: string): ChipColours {
  const units = amount / 10 ** digitsOf(currency);
  return [...BY_VALUE].reverse().find(([value]) => units >= value)?.[1] ?? BY_VALUE[0]![1];
}

/** Return the colours of a player's chips; an unknown name always gets the same one of the known colours. */
export function byName(name: string): ChipColours {
  const known = BY_NAME[name.trim().toLowerCase()];
  if (known) return known;
  const all = Object.values(BY_NAME);
  const sum = [...name].reduce((total, letter) => total + letter.codePointAt(0)!, 0);
  return all[sum % all.length]!;
}
