// Reduce the result lines of a table to the valid rounds, and count their dice. Pure.

import type { Event } from "../api/schema.d.ts";
import type { Roll } from "../lib/dice.ts";
import { total } from "../lib/dice.ts";
import { ROWS } from "./roads.ts";

/** A line of the results: a result, a void round, or a later reversal. */
export interface Line {
  round: number;
  what: string;
  /** The timestamp, which is the same in the live event and in the stored line. */
  at?: number;
  dice?: readonly number[] | null;
}

/** Return the result lines that an event produces. */
export function linesOf(event: Event, at: number): Line[] {
  switch (event.type) {
    case "WinnersPaid":
      return [{ round: event.round, what: "result", at, dice: event.dice }];
    case "RoundVoided":
      return [{ round: event.round, what: "void", at }];
    case "RoundsReversed":
      return event.rounds.map((round) => ({ round, what: "reversed", at }));
    default:
      return [];
  }
}

/** Merge stored lines with those of live events, which the stored ones may lag behind. */
export function withHeard(read: readonly Line[], heard: readonly Line[]): Line[] {
  const key = (line: Line) => `${line.what} ${line.round} ${line.at}`;
  const known = new Set(read.map(key));
  const newest = read.at(-1)?.at ?? 0;
  return [...read, ...heard.filter((line) => (line.at ?? 0) >= newest && !known.has(key(line)))];
}

/**
 * Leave out the oldest lines before a round with which a column of the bead plate begins. Each bead then keeps its
 * place when the oldest line is dropped for a new one, as long as no round is void: the plate has no bead of a void
 * round, so that the beads after it move by one when its line is dropped.
 */
export function fromColumn<T extends Line>(lines: readonly T[]): readonly T[] {
  const first = lines.findIndex(({ round }) => round % ROWS === 1);
  return first > 0 ? lines.slice(first) : lines;
}

/** The final state of a round. */
export interface Fate {
  round: number;
  roll: Roll | null;
  fate: "result" | "void" | "reversed";
}

/** Return the rounds in order with their final states; a reversed result does not count. */
export function fates(lines: readonly Line[]): Fate[] {
  const found: Fate[] = [];
  for (const line of lines) {
    if (line.what === "result" && line.dice)
      found.push({ round: line.round, roll: line.dice as unknown as Roll, fate: "result" });
    else if (line.what === "void") found.push({ round: line.round, roll: null, fate: "void" });
    else if (line.what === "reversed") reverse(found, line.round);
  }
  return found;
}

/** A round and its roll, once it is called. */
export interface Called {
  readonly number: number;
  readonly called: Roll | null;
}

/** Add the round that is being settled: its result counts from the call on, not from the payment. */
export function withCalled(past: readonly Fate[], round: Called | null): readonly Fate[] {
  if (!round?.called) return past;
  return [...past, { round: round.number, roll: round.called, fate: "result" }];
}

function reverse(found: Fate[], round: number): void {
  const at = found.findLastIndex((each) => each.round === round && each.fate === "result");
  if (at >= 0) found[at] = { ...found[at]!, fate: "reversed" };
}

/** Return the rolls of valid results. */
export const rolls = (of: readonly Fate[]): Roll[] =>
  of.flatMap((each) => (each.fate === "result" && each.roll ? [each.roll] : []));

/** Counts of each face and each total in the last rolls. */
export interface Tally {
  /** The number of rolls counted; fewer than requested at a table that has just opened. */
  of: number;
  /** Dice that showed each face, 1 to 6. */
  faces: number[];
  /** Rolls with each total, 3 to 18. */
  totals: number[];
  /** The most and the least frequent faces; empty if all are equally frequent. */
  hot: number[];
  cold: number[];
}

export const LEAST_TOTAL = 3;

export function tally(all: readonly Roll[], last: number): Tally {
  const counted = all.slice(-last);
  const faces = [0, 0, 0, 0, 0, 0];
  const totals = Array.from({ length: 16 }, () => 0);
  for (const roll of counted) {
    for (const face of roll) faces[face - 1]! += 1;
    totals[total(roll) - LEAST_TOTAL]! += 1;
  }
  const most = Math.max(...faces);
  const least = Math.min(...faces);
  const at = (count: number) => (most === least ? [] : faces.flatMap((each, i) => (each === count ? [i + 1] : [])));
  return { of: counted.length, faces, totals, hot: at(most), cold: at(least) };
}
