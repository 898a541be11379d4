// Room: how much more fits on every spot, reckoned as the house reckons it, and whether a set of
// chips fits as a whole before any of it is sent.

import type { GameView, TableView } from "../../api/schema.d.ts";
import { boxOf } from "../../lib/game.ts";
import type { Act } from "./slip.ts";

export interface SpotRoom {
  minimum: number;
  maximum: number;
  step: number;
  own: number;
  total: number;
  room: number;
}

export interface Differential {
  boxes: string[];
  limit: number;
  totals: number[];
  room: number[];
}

export interface Room {
  spots: Record<string, SpotRoom>;
  differential: Differential[];
}

/** The spot on which chips in an area count. */
export const spotOf = (game: GameView, area: string): string =>
  (game.conduct.limits.areas ?? "shared") === "per-area" ? area : boxOf(area);

/** The end of the table that an area is at: `left` for `big@left`. */
export const endIn = (area: string): string => area.split("@")[1] ?? "";

/** All that fits at a table, from its view; the house tells the same when it is asked. */
export function roomAt(game: GameView, view: TableView, player: string): Room {
  const spots: Record<string, SpotRoom> = {};
  const totals = view.round?.totals ?? {};
  const bets = view.seats[player]?.bets ?? {};
  const shared = game.conduct.limits.maximum.scope === "box";
  for (const box of game.boxes) {
    const { minimum, maximum } = limitsOf(view, box.id);
    const step = (view.chips[0] ?? 1) * box.unit;
    for (const spot of spotsOf(game, box.id, box.ends)) {
      const own = bets[spot] ?? 0;
      const total = totals[spot] ?? 0;
      spots[spot] = { minimum, maximum, step, own, total, room: Math.max(maximum - (shared ? total : own), 0) };
    }
  }
  return { spots, differential: differentials(game, view, totals) };
}

function spotsOf(game: GameView, box: string, ends: readonly string[]): string[] {
  const apart = (game.conduct.limits.areas ?? "shared") === "per-area" && ends.some(Boolean);
  return apart ? ends.map((end) => `${box}@${end}`) : [box];
}

export function limitsOf(view: TableView, box: string): { minimum: number; maximum: number } {
  const none = { minimum: 0, maximum: 0 };
  return view.limits?.boxes?.[box] ?? view.limits?.families[box.split(":", 1)[0]!] ?? none;
}

function differentials(game: GameView, view: TableView, totals: Readonly<Record<string, number>>): Differential[] {
  const pairs = game.conduct.limits.differential?.pairs ?? [];
  return pairs.map(([a, b]) => {
    const limit = view.limits?.differential?.[a] ?? 0;
    const held = [a, b].map((box) => totalOn(totals, box)) as [number, number];
    const fits = (mine: number, other: string, others: number) =>
      Math.max(Math.min(others, limitsOf(view, other).maximum) + limit - mine, 0);
    return { boxes: [a, b], limit, totals: held, room: [fits(held[0], b, held[1]), fits(held[1], a, held[0])] };
  });
}

const totalOn = (totals: Readonly<Record<string, number>>, box: string): number =>
  Object.entries(totals).reduce((sum, [spot, total]) => (boxOf(spot) === box ? sum + total : sum), 0);

/** Why a set cannot be put down as a whole: what is short, where, and what would fit. */
export interface Fault {
  kind: "stack" | "chip" | "step" | "maximum" | "minimum" | "unknown";
  area: string;
  amount: number;
  fits: number;
}

export interface Purse {
  stack: number;
  /** The value of the chips that the player plays in. */
  chip: number;
  /** Whether the table refuses what breaks a limit, or records it. */
  refuses: boolean;
}

/** All faults of a set, found before anything of it is sent. */
export function faults(game: GameView, room: Room, purse: Purse, act: Act): Fault[] {
  const found: Fault[] = [];
  const wanted = act.reduce((sum, { amount }) => sum + amount, 0);
  if (wanted > purse.stack) found.push({ kind: "stack", area: "", amount: wanted, fits: purse.stack });
  const bySpot = new Map<string, number>();
  for (const { area, amount } of act) {
    const at = room.spots[spotOf(game, area)];
    if (!at) found.push({ kind: "unknown", area, amount, fits: 0 });
    else if (amount % purse.chip) found.push({ kind: "chip", area, amount, fits: purse.chip });
    else if (amount % at.step) found.push({ kind: "step", area, amount, fits: at.step });
    else bySpot.set(spotOf(game, area), (bySpot.get(spotOf(game, area)) ?? 0) + amount);
  }
  if (purse.refuses)
    for (const [spot, amount] of bySpot) found.push(...limitFaults(room.spots[spot]!, spot, amount, game));
  return found;
}

function* limitFaults(at: SpotRoom, spot: string, amount: number, game: GameView): Generator<Fault> {
  if (amount > at.room) yield { kind: "maximum", area: spot, amount, fits: at.room };
  const held = game.conduct.limits.minimum.scope === "box" ? at.total : at.own;
  const left = held + amount;
  if (left < at.minimum && (amount > 0 || left > 0))
    yield { kind: "minimum", area: spot, amount: left, fits: at.minimum };
}
