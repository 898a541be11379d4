// Determine who may report an irregularity, who must approve it, and whether it names a player.

import type { GameView, Irregularity, TableView } from "../../api/schema.d.ts";
import { SUPERVISORS } from "../../lib/roles.ts";
import { areDiceSeen, ROUND_STAFF, STAFF, withStandIns } from "./procedure.ts";
import type { Roles } from "./procedure.ts";

/** Return the roles that may report: those in the rulebook, or all staff if it names none. */
export function reporters(game: GameView, rule: Irregularity): Roles {
  return withStandIns(game, rule.by?.length ? rule.by : STAFF);
}

export function mayReport(game: GameView, rule: Irregularity, mine: Roles): boolean {
  const allowed = reporters(game, rule);
  return mine.some((role) => ROUND_STAFF.includes(role) && allowed.includes(role));
}

/** Whether a report that names no round only locks the table: equipment that fails while no round is played. */
export const onlyLocks = (rule: Irregularity, view: TableView): boolean =>
  !!rule.locks_table && !view.round && !interruptsNothing(rule, view);

/** Whether a report says what becomes of the current round, and there is none. */
export const interruptsNothing = (rule: Irregularity, view: TableView): boolean =>
  rule.consequence === "continue-if-conclusive" && !view.round;

/**
 * Return the rounds that a report voids unless others are chosen: the current one, or the last settled one if the
 * step that causes the irregularity has not been taken since.
 */
export function concerned(rule: Irregularity, view: TableView): number[] {
  const { round, last_settled: last } = view;
  if (onlyLocks(rule, view)) return [];
  if (rule.consequence === "void-affected-rounds") return round ? [round.number] : [];
  if (rule.consequence !== "void-round" && rule.consequence !== "throw-again") return [];
  const current = round && (!last || !rule.caused_by || round.done.includes(rule.caused_by));
  return current ? [round.number] : last ? [last] : [];
}

/** Whether an irregularity voids rounds however late it is found. */
const isNeverLate = (rule: Irregularity): boolean =>
  rule.consequence === "void-affected-rounds" || rule.found_until === "always";

/** Whether rounds other than the one concerned may be chosen, or none because equipment failed between rounds. */
export const choosesRounds = (rule: Irregularity): boolean =>
  isNeverLate(rule) || (rule.consequence === "void-round" && !!rule.locks_table);

/** Whether an irregularity that is found now still voids these rounds. */
export function inTime(rule: Irregularity, view: TableView, rounds: readonly number[]): boolean {
  const voids = isNeverLate(rule) || rule.consequence === "void-round" || rule.consequence === "throw-again";
  if (interruptsNothing(rule, view)) return false;
  if (!rounds.length && onlyLocks(rule, view)) return true;
  return !voids || (rounds.length > 0 && rounds.every((each) => mayBeVoid(rule, view, each)));
}

/**
 * Return why a report voids nothing now: the current round has not come to the step that causes the irregularity, or
 * its effect on an earlier round has lapsed. The server refuses the report for the same reason.
 */
export function whyNothingFollows(rule: Irregularity, view: TableView, rounds: readonly number[]) {
  const tooLate = rounds.filter((each) => each !== view.round?.number && !mayBeVoid(rule, view, each));
  const waitsFor = view.round && rule.caused_by && !view.round.done.includes(rule.caused_by) ? rule.caused_by : null;
  return { tooLate, waitsFor };
}

function mayBeVoid(rule: Irregularity, view: TableView, round: number): boolean {
  if (round === view.round?.number) return !rule.caused_by || view.round.done.includes(rule.caused_by);
  if (isNeverLate(rule)) return true;
  if (round !== view.last_settled) return false;
  return rule.found_until === "next-throw" || (rule.found_until === "next-round" && !view.round);
}

/**
 * Return the roles that must approve, if a second person must: once the dice can be seen, or for a throw to be
 * repeated, once they are called or confirmed.
 */
export function seconds(game: GameView, rule: Irregularity, view: TableView, rounds: readonly number[]): Roles {
  if (rule.consequence === "void-affected-rounds") return SUPERVISORS;
  const { round } = view;
  const isEstablished = !!round && (!!round.called || round.known.length === 3 || !!round.stopped);
  const needed = rule.consequence === "throw-again" ? isEstablished : areDiceSeen(game, view);
  const alone = round && !needed ? round.number : 0;
  return rounds.some((each) => each !== alone) ? SUPERVISORS : [];
}

/** Whether a report by one person stops the round, until a second person approves. */
export const stops = (second: Roles, view: TableView, rounds: readonly number[]): boolean =>
  second.length > 0 && !!view.round && !view.round.stopped && rounds.every((each) => each === view.round?.number);

/** Whether a report may name a player: if it concerns a bet or the player. */
export const concernsPlayer = (name: string): boolean =>
  name.includes("bet") || name === "walked-away" || name === "interference" || name === "not-provided-for";
