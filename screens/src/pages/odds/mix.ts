// Sort the server's figures for a mix of bets, and compute each bet's result on one roll. Amounts are whole minor
// units.

import type { BoxView, MixView } from "../../api/schema.d.ts";
import { ROLLS } from "../../lib/dice.ts";
import type { Roll } from "../../lib/dice.ts";
import { oddsOn } from "../../lib/game.ts";

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

/** Parse the roll in an address, such as 1-2-3. */
export function rollIn(query: string): Roll | null {
  const faces = /^([1-6])-([1-6])-([1-6])$/.exec(new URLSearchParams(query).get("roll") ?? "");
  return faces ? [Number(faces[1]), Number(faces[2]), Number(faces[3])] : null;
}

/** Format "2023-10-06T08:00:00+08:00" as day and local time of the jurisdiction. */
export const dayOf = (effective: string): string => effective.slice(0, 16).replace("T", " ");
