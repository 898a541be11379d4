// What a screen asks of a game: which boxes win on a roll, what they pay, what a box is called.

import type { Area, BoxView, GameView } from "../api/schema.d.ts";
import { rollIndex } from "./dice.ts";
import type { Roll } from "./dice.ts";

/** `big@left` is a spot of the box `big`. */
export const boxOf = (spot: string): string => spot.split("@", 1)[0]!;

export function boxesById(game: GameView): Map<string, BoxView> {
  return new Map(game.boxes.map((box) => [box.id, box]));
}

/** The odds that a box pays on a roll, "a to b"; nothing where it loses. */
export function oddsOn(box: BoxView, roll: Roll): string | undefined {
  const at = rollIndex(roll);
  return box.lines.find((line) => line.rolls[at] === "1")?.odds;
}

/** The boxes that a roll decides as won; those over several throws are never decided by one. */
export function winning(game: GameView, roll: Roll): Set<string> {
  return new Set(game.boxes.filter((box) => box.throws === 1 && oddsOn(box, roll)).map((box) => box.id));
}

/** The areas to light on a roll: every area of every winning box. */
export function litAreas(game: GameView, roll: Roll): Set<string> {
  const won = winning(game, roll);
  return new Set((game.felt?.areas ?? []).filter((area) => won.has(area.box)).map((area) => area.id));
}

/** The end of the table at which an area lies, where its box has more than one. */
export const endOf = (area: Area): string => area.id.split("@")[1] ?? "";
