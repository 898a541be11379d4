// Define the drawings of die faces on a 32 by 32 square: pips, or symbols. The symbols are data of the package: SVG
// paths, so that they do not depend on a font, each with its ink.

import drawings from "../../../src/threedice/rulebooks/symbols.json";

export const PIPS: Record<number, readonly (readonly [number, number])[]> = {
  1: [[16, 16]],
  2: [
    [9, 9],
    [23, 23],
  ],
  3: [
    [8, 8],
    [16, 16],
    [24, 24],
  ],
  4: [
    [9, 9],
    [23, 9],
    [9, 23],
    [23, 23],
  ],
  5: [
    [9, 9],
    [23, 9],
    [16, 16],
    [9, 23],
    [23, 23],
  ],
  6: [
    [9, 8],
    [9, 16],
    [9, 24],
    [23, 8],
    [23, 16],
    [23, 24],
  ],
};

const INKS = {
  black: "var(--die-black)",
  red: "var(--die-red)",
  green: "var(--die-green)",
  blue: "var(--die-blue)",
};

interface Drawing {
  ink: keyof typeof INKS;
  path: string;
}

export const SYMBOLS = drawings as Record<string, Drawing | undefined>;

/** Return the ink of a face: that of its symbol, or red for ones and fours. */
export const inkOf = (face: number, name: string): string =>
  INKS[SYMBOLS[name]?.ink ?? (face === 1 || face === 4 ? "red" : "black")];
