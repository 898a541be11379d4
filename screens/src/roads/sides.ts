// Define the names, colours and signs of the sides of a road.

import type { GameView } from "../api/schema.d.ts";
import { textOr } from "../texts/texts.ts";

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

/** Return the sign of a face: a symbol, or its number. */
const sign = (face: string): string => SYMBOLS[face] ?? face;

export function sideName(game: GameView, key: string): string {
  return textOr(`board.side.${key}`, selection(game, key).map(sign).join(" ") || key);
}

export function sideMark(game: GameView, key: string): string {
  return textOr(`board.side-mark.${key}`, sign(selection(game, key)[0] ?? key));
}

/** Return the colour of a side; the default depends on its position in the road. */
export const tone = (key: string, place: number): string => TONES[key] ?? (place === 1 ? "red" : "blue");

/** Split the selection of a box for several faces, which are joined by hyphens. */
const selection = (game: GameView, key: string): string[] =>
  (game.boxes.find((box) => box.id === key)?.selection ?? []).flatMap((each) => each.split("-"));
