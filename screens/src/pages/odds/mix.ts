// Read a mix of bets from the address, sort the server's figures for it, and compute each bet's result on one roll.
// Amounts are whole minor units.

import type { BoxView, GameView, MixView } from "../../api/schema.d.ts";
import { ROLLS } from "../../lib/dice.ts";
import type { Roll } from "../../lib/dice.ts";
import { boxesById, boxOf, oddsOn } from "../../lib/game.ts";

/** Chips by area: a box may have areas at both ends. */
export type Chips = ReadonlyMap<string, number>;

/** The highest stake that the server accepts in a mix. */
export const MAX_STAKE = 1_000_000_000_000;

/** A net result of one round, and the number of the 216 rolls that bring it. */
export interface Outcome {
  net: number;
  ways: number;
}

export interface Extreme {
  net: number;
  rolls: Roll[];
}

export interface Line {
  box: string;
  stake: number;
  odds: string | undefined;
  net: number;
}

/** Return every net result from worst to best. */
export function outcomes(mix: MixView): Outcome[] {
  const ways = new Map<number, number>();
  for (const net of mix.nets) ways.set(net, (ways.get(net) ?? 0) + 1);
  return [...ways].sort(([a], [b]) => a - b).map(([net, times]) => ({ net: net / mix.unit, ways: times }));
}

export const worst = (mix: MixView): Extreme => extreme(mix, Math.min(...mix.nets));
export const best = (mix: MixView): Extreme => extreme(mix, Math.max(...mix.nets));

function extreme(mix: MixView, net: number): Extreme {
  return { net: net / mix.unit, rolls: ROLLS.filter((_, i) => mix.nets[i] === net) };
}

/** Return what each bet of a mix wins or loses on a roll. */
export function linesOn(stakes: ReadonlyMap<string, number>, boxes: ReadonlyMap<string, BoxView>, roll: Roll): Line[] {
  return [...stakes].map(([id, stake]) => {
    const box = boxes.get(id);
    const odds = box && oddsOn(box, roll);
    return { box: id, stake, odds, net: odds ? won(stake, odds) : -stake };
  });
}

/**
 * Return the winnings of a stake at "a to b"; the server, not this function, settles amounts that do not divide
 * evenly.
 */
export function won(stake: number, odds: string): number {
  const [a = 0, b = 1] = odds.split(/\s*to\s*/).map(Number);
  return (stake * a) / b;
}

// --- the sheet ----------------------------------------------------------------------------------

/** Parse "7/216" into a number, for sorting and for display as a share. */
export function share(fraction: string): number {
  const [a = 0, b = 1] = fraction.split("/").map(Number);
  return a / b;
}

// --- the address --------------------------------------------------------------------------------

/** Format chips for the address: `big*100,total:9*500`. */
export const mixText = (chips: Chips): string => [...chips].map(([area, amount]) => `${area}*${amount}`).join(",");

/** Parse the mix of an address. `rejected` has the parts that the game does not offer or that are not amounts. */
export function mixIn(text: string, game: GameView): { chips: Chips; rejected: string[] } {
  const boxes = boxesById(game);
  const areas = new Set(game.felt?.areas.map((area) => area.id));
  const chips = new Map<string, number>();
  const sums = new Map<string, number>();
  const rejected: string[] = [];
  for (const part of text.split(",").filter(Boolean)) {
    const [, area = "", digits = ""] = /^(.+)\*(\d{1,15})$/.exec(part) ?? [];
    const amount = Number(digits);
    const box = boxOf(area);
    const sum = (sums.get(box) ?? 0) + amount;
    const fits = amount > 0 && sum <= MAX_STAKE;
    if (!areas.has(area) || chips.has(area) || boxes.get(box)?.throws !== 1 || !fits) rejected.push(part);
    else {
      chips.set(area, amount);
      sums.set(box, sum);
    }
  }
  return { chips, rejected };
}

/** Add up the chips of each box. */
export function stakesOf(chips: Chips): ReadonlyMap<string, number> {
  const stakes = new Map<string, number>();
  for (const [area, amount] of chips) stakes.set(boxOf(area), (stakes.get(boxOf(area)) ?? 0) + amount);
  return stakes;
}

/** Parse the roll of an address, such as 1-2-3. */
export function rollIn(text: string): Roll | null {
  const faces = /^([1-6])-([1-6])-([1-6])$/.exec(text);
  return faces ? [Number(faces[1]), Number(faces[2]), Number(faces[3])] : null;
}
