// Look up in a game which boxes win on a roll, what they pay and which areas they have.

import type { Area, BoxView, GameView } from "../api/schema.d.ts";
import { rollIndex } from "./dice.ts";
import type { Roll } from "./dice.ts";

/** `big@left` is a spot of the box `big`. */
export const boxOf = (spot: string): string => spot.split("@", 1)[0]!;

const byId = new WeakMap<GameView, ReadonlyMap<string, BoxView>>();

/** Return the boxes of a game by id; kept for each game, because pages look boxes up at every event. */
export function boxesById(game: GameView): ReadonlyMap<string, BoxView> {
  let found = byId.get(game);
  if (!found) byId.set(game, (found = new Map(game.boxes.map((box) => [box.id, box]))));
  return found;
}

/** Return the odds that a box pays on a roll, as "a to b"; undefined if it loses. */
export function oddsOn(box: BoxView, roll: Roll): string | undefined {
  const at = rollIndex(roll);
  return box.lines.find((line) => line.rolls[at] === "1")?.odds;
}

/** Return the boxes that win on a roll; boxes over several throws are never decided by one roll. */
export function winning(game: GameView, roll: Roll): Set<string> {
  return new Set(game.boxes.filter((box) => box.throws === 1 && oddsOn(box, roll)).map((box) => box.id));
}

/** Return the areas to light on a roll: every area of every winning box. */
export function litAreas(game: GameView, roll: Roll): Set<string> {
  const won = winning(game, roll);
  return new Set((game.felt?.areas ?? []).filter((area) => won.has(area.box)).map((area) => area.id));
}

/** Return the end of the table that an area is at, if its box has more than one. */
export const endOf = (area: Area): string => area.id.split("@")[1] ?? "";

/** Return the clauses of a game's own rulebook; those that it borrows from another one are named with that rulebook. */
export const ownClauses = (clause: string | readonly string[]): string[] =>
  [clause].flat().filter((each) => !/^[a-z][a-z0-9-]* /.test(each));
