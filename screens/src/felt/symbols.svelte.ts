// Load the drawings of the symbols on dice once a page shows one: most games have dice with pips. They are data of the
// package: SVG paths on a 32 by 32 square, so that they do not depend on a font, each with its ink.

const INKS = {
  black: "var(--die-black)",
  red: "var(--die-red)",
  green: "var(--die-green)",
  blue: "var(--die-blue)",
};

export interface Drawing {
  ink: keyof typeof INKS;
  path: string;
}

let drawings = $state.raw<Readonly<Record<string, Drawing>> | null>(null);
let loading = false;

/** Return the drawing of a face: null for one with pips, undefined until the drawings are loaded. */
export function drawingOf(name: string): Drawing | null | undefined {
  if (/^\d*$/.test(name)) return null;
  if (!drawings && !loading) {
    loading = true;
    queueMicrotask(() => void load());
  }
  return drawings ? (drawings[name.toLowerCase()] ?? null) : undefined;
}

async function load(): Promise<void> {
  try {
    drawings = (await import("../../../src/threedice/rulebooks/symbols.json")).default as Record<string, Drawing>;
  } catch {
    loading = false; // the next die that is drawn asks again
  }
}

/** Return the ink of a face: that of its drawing, or red for ones and fours. */
export const inkOf = (face: number, drawing: Drawing | null): string =>
  INKS[drawing?.ink ?? (face === 1 || face === 4 ? "red" : "black")];
