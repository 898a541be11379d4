// Lay out the words and dice of an area. Sizes are estimated from the letters, so that the layout needs no
// rendering. Lines shrink, and break if shrinking would make them illegible.

import type { Area, Inscription } from "../api/schema.d.ts";

export interface Word {
  text: string;
  x: number;
  y: number;
  size: number;
  role: "title" | "detail" | "odds";
  lang: "en" | "zh";
  /** Written vertically, from bottom to top. */
  upright?: boolean;
}

export interface FaceAt {
  face: number;
  x: number;
  y: number;
  size: number;
}

export interface Lettering {
  words: Word[];
  dice: FaceAt[];
}

interface Row {
  size: number;
  parts: { text: string; role: Word["role"]; lang: Word["lang"] }[];
  dice?: readonly number[];
}

const LINE = 1.22;
const GAP = 0.35;

/** Estimate the width of a text in ems; rounded up for bold capitals. */
export function wide(text: string): number {
  let sum = 0;
  for (const letter of text) sum += widthOf(letter);
  return sum;
}

function widthOf(letter: string): number {
  if (letter.codePointAt(0)! > 0x2e80) return 1;
  if (/[\s.,'’:;•|!I1il\\]/.test(letter)) return letter === "1" ? 0.64 : 0.4;
  if (/[MW@%]/.test(letter)) return 1;
  if (/[A-Z&]/.test(letter)) return 0.76;
  return 0.64;
}

/** Break a text into lines of at most `most` ems; words are never broken. */
export function broken(text: string, most: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(/\s+/).filter(Boolean)) {
    const longer = lines.length ? `${lines.at(-1)} ${word}` : word;
    if (lines.length && wide(longer) <= most) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}

/** Place the dice, names, details and odds of an area. */
export function lettering(area: Area): Lettering {
  const rows = area.height > area.width * 0.75 ? tall(area) : flat(area);
  return placed(rows, area);
}

/** Lay out a tall area: Chinese large, English below it, one item per line. */
function tall(area: Area): Row[] {
  const [title = "", ...details] = area.en;
  const [sign = "", ...rest] = area.zh;
  const rows: Row[] = [];
  if (sign) rows.push(row(sign, "title", "zh", Math.min(area.height * 0.27, area.width * 0.5)));
  if (area.dice.length && area.dice.length * 1.3 < area.height / area.width + 1)
    rows.push(...area.dice.map((face) => diceRow([face], area)));
  else if (area.dice.length) rows.push(diceRow(area.dice, area));
  const most = area.width * 0.88;
  if (title)
    rows.push(
      ...fitted(title, most, Math.max(sign ? 36 : 30, area.width * 0.19), 20).map((line) => sized(line, "title", "en")),
    );
  for (const line of details) rows.push(...fitted(line, most, 18, 13).map((each) => sized(each, "detail", "en")));
  for (const line of rest) rows.push(...fitted(line, most, 17, 13).map((each) => sized(each, "detail", "zh")));
  if (area.odds) rows.push(...fitted(area.odds, most, 20, 15).map((line) => sized(line, "odds", "en")));
  return rows;
}

/** Lay out a flat area: both names in one line, everything else in a second one. */
function flat(area: Area): Row[] {
  const [title = "", ...details] = area.en;
  const [sign = "", ...rest] = area.zh;
  const most = area.width * 0.88;
  const rows: Row[] = [];
  if (area.dice.length) rows.push(diceRow(area.dice, area));
  const names: Row["parts"] = [];
  if (sign) names.push({ text: sign, role: "title", lang: "zh" });
  if (title) names.push({ text: title, role: "title", lang: "en" });
  if (names.length) {
    const wanted = Math.min(area.height * (details.length || area.odds || area.dice.length ? 0.42 : 0.5), 36);
    rows.push({ size: Math.min(wanted, most / lengthOf(names)), parts: names });
  }
  if (details.length + rest.length) {
    const all = [...details, ...rest, area.odds].filter(Boolean).join("  •  ");
    rows.push(...fitted(all, most, 16, 13).map((line) => sized(line, "detail", "en")));
  } else if (area.odds) rows.push(...fitted(area.odds, most, 19, 13).map((line) => sized(line, "odds", "en")));
  return rows;
}

/** Lay out the words between the areas; a narrow upright strip is written vertically, in one line. */
export function inscribed(each: Inscription): Word[] {
  const lines = [
    ...each.en.map((text) => ({ text, lang: "en" as const })),
    ...each.zh.map((text) => ({ text, lang: "zh" as const })),
  ];
  const upright = each.height > each.width * 1.5 && lines.length === 1;
  const [width, height] = upright ? [each.height, each.width] : [each.width, each.height];
  const rows = lines.flatMap(({ text, lang }) =>
    fitted(text, width * 0.88, 24, upright ? 0 : 15).map((line) => sized(line, "odds", lang)),
  );
  const flatBox = { ...each, width, height };
  const words = placed(rows, flatBox).words;
  if (!upright) return words;
  const [x, y] = [each.x + each.width / 2, each.y + each.height / 2];
  return words.map((word) => ({ ...word, x, y: y + word.size * 0.36, upright: true }));
}

/** Fit a text into the fewest lines that allow letters between `least` and `most` high. */
function fitted(text: string, width: number, most: number, least: number): { text: string; size: number }[] {
  const longest = Math.max(...text.split(/\s+/).map(wide));
  const readable = Math.min(least, width / longest);
  const lines = wide(text) * readable <= width ? [text] : broken(text, width / readable);
  const size = Math.min(most, width / Math.max(...lines.map(wide)));
  return lines.map((line) => ({ text: line, size }));
}

const row = (text: string, role: Word["role"], lang: Word["lang"], size: number): Row => ({
  size,
  parts: [{ text, role, lang }],
});

const sized = (line: { text: string; size: number }, role: Word["role"], lang: Word["lang"]): Row =>
  row(line.text, role, lang, line.size);

function diceRow(dice: readonly number[], area: Area): Row {
  const words = area.en.length + area.zh.length + (area.odds ? 1 : 0);
  const share = words ? 0.42 : 0.66;
  const size = Math.min(area.height * share, (area.width * 0.86) / (dice.length * 1.12), 62);
  return { size: size / LINE, parts: [], dice };
}

const lengthOf = (parts: Row["parts"]): number =>
  parts.reduce((sum, part) => sum + wide(part.text), 0) + GAP * (parts.length - 1);

function placed(rows: Row[], area: { x: number; y: number; width: number; height: number }): Lettering {
  const high = rows.reduce((sum, each) => sum + each.size * LINE, 0);
  const shrink = high ? Math.min(1, (area.height * 0.92) / high) : 1;
  const found: Lettering = { words: [], dice: [] };
  let top = area.y + (area.height - high * shrink) / 2;
  for (const each of rows) {
    const size = each.dice ? each.size * shrink : whole(each.size * shrink);
    const middle = area.x + area.width / 2;
    if (each.dice) found.dice.push(...facesAt(each.dice, middle, top, size * LINE));
    else found.words.push(...wordsAt(each.parts, middle, top + size * 0.95, size));
    top += size * LINE;
  }
  return found;
}

/** Round a size of letters down: labels that share their sizes share the fonts, which take long to prepare. */
const whole = (size: number): number => (size < 10 ? Math.floor(size * 2) / 2 : Math.floor(size));

function facesAt(dice: readonly number[], middle: number, top: number, high: number): FaceAt[] {
  const size = high * 0.9;
  const left = middle - (dice.length * high) / 2 + (high - size) / 2;
  return dice.map((face, i) => ({ face, x: left + i * high, y: top + (high - size) / 2, size }));
}

function wordsAt(parts: Row["parts"], middle: number, y: number, size: number): Word[] {
  let left = middle - (lengthOf(parts) * size) / 2;
  return parts.map((part) => {
    const width = wide(part.text) * size;
    const word: Word = { ...part, x: left + width / 2, y, size };
    left += width + GAP * size;
    return word;
  });
}
