// Compute from the called dice how a player's bets will be settled, for the moment between the call and the
// payment. tests/screens/test_fold.py compares it with the payments of the server on random tables.

import type { GameView, TableView } from "../../api/schema.d.ts";
import type { Roll } from "../../lib/dice.ts";
import { boxesById, boxOf, oddsOn } from "../../lib/game.ts";
import { limitsOf, spotOf } from "./room.ts";
import type { Lying } from "./slip.ts";
import { totalOf } from "./slip.ts";

/** Losing stakes, winning stakes and their winnings, by area. */
export interface Settlement {
  readonly lost: Lying;
  readonly won: Lying;
  readonly winnings: Lying;
}

export const netOf = ({ lost, winnings }: Settlement): number => totalOf(winnings) - totalOf(lost);
export const stakedIn = ({ lost, won }: Settlement): number => totalOf(lost) + totalOf(won);

/**
 * Return how a player's bets will be settled on a roll; null if a bet of theirs will be apportioned, because their
 * share depends on the bets of the others.
 */
export function expectedOn(game: GameView, view: TableView, player: string, roll: Roll): Settlement | null {
  const boxes = boxesById(game);
  const seat = view.seats[player];
  const lost: Record<string, number> = {};
  const won: Record<string, number> = {};
  const winnings: Record<string, number> = {};
  const paid = new Set<string>();
  for (const [area, stake] of Object.entries(seat?.areas ?? {})) {
    const spot = spotOf(game, area);
    if (isApportioned(game, view, spot)) return null;
    const box = boxes.get(boxOf(area));
    const odds = box && oddsOn(box, roll);
    if (!odds) {
      lost[area] = stake;
      continue;
    }
    won[area] = stake;
    winnings[area] = paid.has(spot) ? 0 : pays(odds, seat?.bets[spot] ?? stake);
    paid.add(spot); // a spot with chips at both ends is paid once
  }
  const { shooter } = view;
  const box = boxes.get(game.conduct.shooter?.box ?? "");
  if (shooter?.player === player && shooter.stake && box) {
    const odds = oddsOn(box, roll);
    if (!odds) lost[box.id] = shooter.stake;
    else if (shooter.throws + 1 >= box.throws) {
      won[box.id] = shooter.stake;
      winnings[box.id] = pays(odds, shooter.stake);
    }
  }
  return { lost, won, winnings };
}

/** Return the winnings at odds "a to b"; stakes are always multiples that come out even. */
function pays(odds: string, stake: number): number {
  const [a, b] = odds.split(" to ").map(Number) as [number, number];
  return (stake * a) / b;
}

/** Whether the bets on a spot are over a limit that they share, and will play in part. */
function isApportioned(game: GameView, view: TableView, spot: string): boolean {
  const { maximum, pro_rata, differential } = game.conduct.limits;
  if (maximum.scope !== "box" || maximum.unnoticed !== "pro-rata" || !pro_rata) return false;
  const total = (at: string) => view.round?.totals[at] ?? 0;
  const most = (at: string) => limitsOf(view, boxOf(at)).maximum;
  if (total(spot) > most(spot)) return true;
  const box = boxOf(spot);
  const pair = differential?.pairs.find((each) => each.includes(box));
  if (!pair || differential?.unnoticed !== "pro-rata") return false;
  const other = spot.replace(box, pair[0] === box ? pair[1]! : pair[0]!);
  return total(spot) > Math.min(total(other), most(other)) + (view.limits?.differential?.[pair[0]!] ?? 0);
}
