// How the sides of a road look and what they are called.

import type { GameView } from "../../api/schema.d.ts";
import { textOr } from "../../texts/texts.ts";

const SYMBOLS: Record<string, string> = {
  crown: "♛",
  anchor: "⚓\ufe0e",
  spade: "♠",
  heart: "♥",
  diamond: "♦",
  club: "♣",
};
const TONES: Record<string, string> = {
  small: "blue",
  big: "red",
  odd: "blue",
  even: "red",
  red: "red",
  black: "black",
  triple: "green",
  neither: "grey",
};

/** The sign of a face: a symbol, or its number. */
export const sign = (face: string): string => SYMBOLS[face] ?? face;

export function sideName(game: GameView, key: string): string {
  return textOr(`board.side.${key}`, selection(game, key).map(sign).join(" ") || key);
}

export function sideMark(game: GameView, key: string): string {
  return textOr(`board.side-mark.${key}`, sign(selection(game, key)[0] ?? key));
}

/** The colour of a side; where it has none of its own, by its place in the road. */
export const tone = (key: string, place: number): string => TONES[key] ?? (place === 1 ? "red" : "blue");

/** A box for several faces selects them in one word, joined by hyphens. */
const selection = (game: GameView, key: string): string[] =>
  (game.boxes.find((box) => box.id === key)?.selection ?? []).flatMap((each) => each.split("-"));
