// Define the drawings of die faces on a 32 by 32 square: pips, or the six symbols of crown and anchor.

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

/** SVG paths to fill; drawn here, so that the symbols do not depend on a font. */
export const SYMBOLS: Record<string, string> = {
  spade:
    "M16 5C13 10 6 13.5 6 19a5 5 0 0 0 8.6 3.4C14.4 24.6 13.6 26 12 27h8c-1.6-1-2.4-2.4-2.6-4.6A5 5 0 0 0 26 19C26 13.5 19 10 16 5z",
  heart: "M16 27C10 21.5 5.5 17.5 5.5 12.5A5.5 5.5 0 0 1 16 10a5.5 5.5 0 0 1 10.5 2.5C26.5 17.5 22 21.5 16 27z",
  diamond: "M16 4.5 25 16 16 27.5 7 16z",
  club: "M16 5a5 5 0 0 0-3.9 8.2 5 5 0 1 0 2.7 8.3C14.6 24.3 13.7 26 12 27h8c-1.7-1-2.6-2.7-2.8-5.5a5 5 0 1 0 2.7-8.3A5 5 0 0 0 16 5z",
  crown: "M5 10.5 10.5 16 16 6l5.5 10L27 10.5 24.5 22h-17zM7.5 23.5h17V27h-17z",
  anchor:
    "M16 4a3.5 3.5 0 0 0-1.5 6.660V12.5H10.5v3h4v8.3c-3-.6-5.4-2.6-6.3-5.3l1.8.4L8 14.5 4.5 19l1.5-.3C7 24 11 27.5 16 28.5 21 27.5 25 24 26 18.7l1.5.3L24 14.5l-2 4.4 1.8-.4c-.9 2.7-3.3 4.7-6.3 5.3V15.5h4v-3h-4v-1.840A3.5 3.5 0 0 0 16 4zm0 2.2a1.3 1.3 0 1 1 0 2.6 1.3 1.3 0 0 1 0-2.6z",
};

const RED = new Set(["heart", "diamond", "crown"]);
const INK = "var(--die-ink)";
const RED_INK = "var(--die-red)";

/** Return the ink of a face: red for ones and fours, and for hearts, diamonds and crowns. */
export function inkOf(face: number, name: string): string {
  if (name in SYMBOLS) return RED.has(name) ? RED_INK : INK;
  return face === 1 || face === 4 ? RED_INK : INK;
}
