// Compute how much more a player may stake on each spot from the table's view, so that it changes with every
// event; and find the faults of a set of bets before it is sent. tests/screens/test_room.py compares both with
// the server's answers on random tables.

import type { BoxView, DifferentialRoom, GameView, SpotRoom, TableRoom, TableView } from "../../api/schema.d.ts";
import { boxOf } from "../../lib/game.ts";
import type { Act } from "./slip.ts";

export type Room = Omit<TableRoom, "version">;

/** Return the spot on which chips in an area count. */
export const spotOf = (game: GameView, area: string): string => (isPerArea(game) ? area : boxOf(area));

/** Return the end of the table that an area is at: `left` for `big@left`. */
export const endIn = (area: string): string => area.split("@")[1] ?? "";

/** Compute the room on every spot for one player, as `/api/tables/{table}/room` returns it at this version. */
export function roomAt(game: GameView, view: TableView, player: string): Room {
  if (!view.limits) return { spots: {}, differential: [] };
  const spots: Record<string, SpotRoom> = {};
  const totals = view.round?.totals ?? view.standing;
  for (const box of game.boxes) {
    const { minimum, maximum } = limitsOf(view, box.id);
    const step = (view.chips[0] ?? 1) * box.unit;
    for (const spot of spotsOf(game, box)) {
      const at =
        box.id === game.conduct.shooter?.box
          ? shooterRoom(view.shooter, player, maximum)
          : spotRoom(game, totals[spot] ?? 0, view.seats[player]?.bets[spot] ?? 0, maximum);
      spots[spot] = { minimum, maximum, step, ...at };
    }
  }
  return { spots, differential: differentials(game, view, totals) };
}

type Left = Pick<SpotRoom, "own" | "total" | "room">;

function spotRoom(game: GameView, total: number, own: number, maximum: number): Left {
  const counted = game.conduct.limits.maximum.scope === "box" ? total : own;
  return { own, total, room: Math.max(maximum - counted, 0) };
}

/** Only the shooter stakes here, once, after choosing the dice and before the first throw. */
function shooterRoom(shooter: TableView["shooter"], player: string, maximum: number): Left {
  if (shooter?.player !== player) return { own: 0, total: 0, room: 0 };
  const mayStake = shooter.dice.length > 0 && !shooter.throws && !shooter.stake;
  return { own: shooter.stake, total: shooter.stake, room: mayStake ? maximum : 0 };
}

const isPerArea = (game: GameView): boolean => game.conduct.limits.areas === "per-area";

const spotsOf = (game: GameView, box: BoxView): string[] =>
  isPerArea(game) ? box.ends.map((end) => (end ? `${box.id}@${end}` : box.id)) : [box.id];

export function limitsOf(view: Pick<TableView, "limits">, box: string): { minimum: number; maximum: number } {
  const none = { minimum: 0, maximum: 0 };
  return view.limits?.boxes?.[box] ?? view.limits?.families[box.split(":", 1)[0]!] ?? none;
}

function differentials(game: GameView, view: TableView, totals: Readonly<Record<string, number>>): DifferentialRoom[] {
  const pairs = new Map(game.conduct.limits.differential?.pairs);
  const total = (spot: string) => totals[spot] ?? 0;
  const maximum = (spot: string) => limitsOf(view, boxOf(spot)).maximum;
  return game.boxes.flatMap((box) => {
    const opposite = pairs.get(box.id);
    if (!opposite) return [];
    const limit = view.limits?.differential?.[box.id] ?? 0;
    const roomOn = (spot: string, other: string) =>
      Math.max(Math.min(maximum(spot), Math.min(total(other), maximum(other)) + limit) - total(spot), 0);
    return spotsOf(game, box).map((a) => {
      const b = a.replace(box.id, opposite);
      return { boxes: [a, b], limit, totals: [total(a), total(b)], room: [roomOn(a, b), roomOn(b, a)] };
    });
  });
}

/** The reason why a set cannot be placed as a whole: what is short, where, and what would fit. */
export interface Fault {
  kind: "stack" | "chip" | "step" | "maximum" | "minimum" | "unknown";
  area: string;
  amount: number;
  fits: number;
}

export interface Purse {
  stack: number;
  /** The value of the player's chips. */
  chip: number;
  /** Whether the table refuses bets that break a limit, or records them. */
  refuses: boolean;
}

/** Return all faults of a set before it is sent. */
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
