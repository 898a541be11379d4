// Apply an event to the chips of a view: stacks, float, spots and areas of the felt. Chips leave a spot in
// reverse order of placement, as on the server, so a seat keeps its placements.

import type { Event, GameView, SeatView, TableView } from "../api/schema.d.ts";

type Placed = SeatView["placements"][string][number];

/** Apply an event to the chips of a view, in place; changed seats are replaced by new objects. */
export function change(view: TableView, event: Event, game: GameView): void {
  switch (event.type) {
    case "BoughtIn":
      seat(view, event.player, (each) => (each.stack += event.amount));
      toFloat(view, -event.amount);
      if (event.source === "cash") toDrop(view, event.amount);
      break;
    case "CashedOut":
      seat(view, event.player, (each) => (each.stack -= event.amount));
      if (event.to === "account") toFloat(view, event.amount);
      if (!view.seats[event.player]?.stack && !view.seats[event.player]?.at_risk) leave(view, event.player);
      break;
    case "DebtRepaid":
      if (event.source === "cash") toDrop(view, event.amount);
      else {
        seat(view, event.player, (each) => (each.stack -= event.amount));
        toFloat(view, event.amount);
      }
      owe(view, event.player, -event.amount);
      break;
    case "ColourTaken":
      seat(view, event.player, (each) => {
        each.colour = event.colour;
        each.colour_value = event.value;
      });
      break;
    case "ColouredUp":
      seat(view, event.player, (each) => {
        each.colour = "";
        each.colour_value = 0;
      });
      break;
    case "BetPlaced":
      risk(view, event.player, event.amount);
      if (event.manner !== "shooter")
        lay(view, event.player, game, event.spot, [[event.area, event.number, event.amount]]);
      else if (view.shooter) view.shooter = { ...view.shooter, stake: view.shooter.stake + event.amount };
      break;
    case "BetWithdrawn":
      takeBack(view, game, event);
      break;
    case "BetRejected":
      if (!event.waits) takeBack(view, game, event);
      else {
        lift(view, event.player, game, event.amount, event);
        excess(view, event.player, event.spot, event.amount);
      }
      break;
    case "LineJudged":
      if (!event.accepted) takeBack(view, game, event);
      break;
    case "ChipsMoved":
    case "ChipsPutBack": {
      const end = event.to_area || event.to_spot.split("@")[1] || "";
      const lifted = lift(view, event.player, game, event.amount, event);
      const laid = lifted.reverse().map(([was, number, amount]): Placed => [end || was, number, amount]);
      lay(view, event.player, game, event.to_spot, laid);
      excess(view, event.player, event.spot, -(event.excess ?? 0));
      excess(view, event.player, event.to_spot, event.excess ?? 0);
      break;
    }
    case "BetsApportioned":
      for (const [spot, player, stake, plays] of event.bets) {
        seat(
          view,
          player,
          (each) => {
            each.bets = added(each.bets, spot, plays - stake);
            if (!plays && !event.waits) removeBet(each, spot); // the whole bet went back
          },
          game,
        );
        if (event.waits) excess(view, player, spot, stake - plays);
        else risk(view, player, plays - stake);
      }
      break;
    case "LosersCollected":
      for (const [, player, amount] of event.bets) {
        seat(view, player, (each) => (each.at_risk -= amount));
        toFloat(view, amount);
      }
      returnExcess(view, game, event.excess);
      break;
    case "AreaPaid":
      returnExcess(view, game, event.excess);
      for (const [spot, player, stake, winnings] of event.bets) {
        win(view, player, stake, winnings);
        seat(view, player, (each) => removeBet(each, spot), game);
      }
      break;
    case "WinnersPaid":
      returnExcess(view, game, event.excess);
      for (const [, player, stake, winnings] of event.bets) win(view, player, stake, winnings);
      clear(view);
      break;
    case "ShooterWon":
      if (event.stake) win(view, event.player, event.stake, event.winnings);
      break;
    case "ShooterLost":
      if (!event.stake) break;
      seat(view, event.player, (each) => (each.at_risk -= event.stake));
      toFloat(view, event.stake);
      break;
    case "ShooterRestored":
      if (!event.laid) break;
      transfer(view, event.player, 0, event.owing ?? 0);
      risk(view, event.player, event.laid);
      break;
    case "ThrowRepeated":
      putBack(view, event.restored ?? []);
      break;
    case "RoundVoided":
      for (const [, player, amount] of event.returned) risk(view, player, -amount);
      putBack(view, event.restored ?? []);
      if (event.bets !== "stand") clear(view);
      break;
    case "RoundsReversed": {
      const owing = new Map(event.owing);
      for (const [player, amount] of event.transfers) transfer(view, player, amount, owing.get(player) ?? 0);
      break;
    }
    case "BetCorrected":
    case "RulingMade":
      transfer(view, event.player, event.amount, event.owing);
      break;
    default: // the event moves no chips
  }
  if ("colours_owed" in event && event.colours_owed) toFloat(view, event.colours_owed);
}

type TakenBack = Extract<Event, { type: "BetWithdrawn" | "BetRejected" | "LineJudged" }>;

/** Return chips of a bet to the stack, with the excess that goes back with a whole bet. */
function takeBack(view: TableView, game: GameView, event: TakenBack): void {
  lift(view, event.player, game, event.amount, event);
  risk(view, event.player, -event.amount - (event.excess ?? 0));
  excess(view, event.player, event.spot, -(event.excess ?? 0));
}

/** Add to what lies with a bet and does not play. */
function excess(view: TableView, player: string, spot: string, amount: number): void {
  if (amount) seat(view, player, (each) => (each.excess = added(each.excess, spot, amount)));
}

/** Return what lay with the bets that an event settles; a bet of which nothing played is gone. */
function returnExcess(
  view: TableView,
  game: GameView,
  returned: readonly (readonly [string, string, number])[] = [],
): void {
  for (const [spot, player, amount] of returned) {
    excess(view, player, spot, -amount);
    risk(view, player, -amount);
    if (!view.seats[player]?.bets[spot]) seat(view, player, (each) => removeBet(each, spot), game);
  }
}

function removeBet(seat: SeatView, spot: string): void {
  seat.bets = without(seat.bets, spot);
  seat.placements = without(seat.placements, spot);
}

/** Return a record without one of its keys. */
function without<T>(record: Record<string, T>, key: string): Record<string, T> {
  return Object.fromEntries(Object.entries(record).filter(([each]) => each !== key));
}

/** Return the value printed on counted chips; a coloured chip has none. */
export function faceValue(counts: Record<string, number>): number {
  return Object.entries(counts).reduce((sum, [chip, count]) => sum + (Number(chip) || 0) * count, 0);
}

/** Return the chips by area: each placement, limited to the amount in play, on the area of its end. */
function areasOf(seat: SeatView, game: GameView): SeatView["areas"] {
  const areas: Record<string, number> = {};
  for (const [spot, placements] of Object.entries(seat.placements)) {
    let left = seat.bets[spot] ?? 0;
    for (const [end, , amount] of placements) {
      const lies = Math.min(amount, left);
      const area = areaOf(game, spot, end);
      if (lies) areas[area] = (areas[area] ?? 0) + lies;
      left -= lies;
    }
  }
  return areas;
}

/** Return the area for chips on a spot; the first of several if no end is named. */
export function areaOf(game: GameView, spot: string, end: string): string {
  const box = spot.split("@", 1)[0]!;
  const ends = game.boxes.find((each) => each.id === box)?.ends ?? [""];
  const at = ends.includes(end) ? end : (ends[0] ?? "");
  return at ? `${box}@${at}` : box;
}

function seat(view: TableView, player: string, alter: (seat: SeatView) => void, game?: GameView): void {
  const changed = { ...(view.seats[player] ?? newSeat(view, player)) };
  alter(changed);
  if (game) changed.areas = areasOf(changed, game);
  view.seats = { ...view.seats, [player]: changed };
}

const newSeat = (view: TableView, player: string): SeatView => ({
  stack: 0,
  at_risk: 0,
  colour: "",
  colour_value: 0,
  owing: view.owing[player] ?? 0,
  bets: {},
  excess: {},
  areas: {},
  placements: {},
});

export function leave(view: TableView, player: string): void {
  const { [player]: _, ...others } = view.seats;
  view.seats = others;
}

function risk(view: TableView, player: string, amount: number): void {
  seat(view, player, (each) => {
    each.stack -= amount;
    each.at_risk += amount;
  });
}

/** Return collected bets from the float to the layout. */
function putBack(view: TableView, collected: readonly (readonly [string, string, number])[]): void {
  for (const [, player, amount] of collected) {
    seat(view, player, (each) => (each.at_risk += amount));
    toFloat(view, -amount);
  }
}

function win(view: TableView, player: string, stake: number, winnings: number): void {
  seat(view, player, (each) => {
    each.at_risk -= stake;
    each.stack += stake + winnings;
  });
  toFloat(view, -winnings);
}

function lay(view: TableView, player: string, game: GameView, spot: string, laid: readonly Placed[]): void {
  const lie = (each: SeatView): void => {
    const placements = [...(each.placements[spot] ?? [])];
    for (const [end, number, amount] of laid) {
      each.bets = added(each.bets, spot, amount);
      const same = placements.findIndex(([at, n]) => at === end && n === number);
      if (same >= 0) placements[same] = [end, number, placements[same]![2] + amount];
      else placements.push([end, number, amount]);
    }
    each.placements = { ...each.placements, [spot]: placements };
  };
  seat(view, player, lie, game);
}

interface From {
  spot: string;
  /** Only chips at this end. */
  area?: string;
  /** Only chips of this placement. */
  number?: number;
}

/** Remove chips from a spot, the last placed first, and return them as placements. */
function lift(view: TableView, player: string, game: GameView, amount: number, from: From): Placed[] {
  const lifted: Placed[] = [];
  const take = (each: SeatView): void => {
    const placements = [...(each.placements[from.spot] ?? [])];
    each.bets = added(each.bets, from.spot, -amount);
    for (let at = placements.length - 1; at >= 0 && amount > 0; at--) {
      const [end, number, has] = placements[at]!;
      if ((from.area && end !== from.area) || (from.number && number !== from.number)) continue;
      const taken = Math.min(has, amount);
      lifted.push([end, number, taken]);
      amount -= taken;
      if (taken === has) placements.splice(at, 1);
      else placements[at] = [end, number, has - taken];
    }
    const { [from.spot]: _, ...others } = each.placements;
    each.placements = placements.length ? { ...others, [from.spot]: placements } : others;
  };
  seat(view, player, take, game);
  return lifted;
}

/** Clear the layout of all chips. */
function clear(view: TableView): void {
  view.seats = Object.fromEntries(
    Object.entries(view.seats).map(([player, each]) => [
      player,
      { ...each, bets: {}, excess: {}, areas: {}, placements: {} },
    ]),
  );
}

function transfer(view: TableView, player: string, amount: number, owing: number): void {
  seat(view, player, (each) => (each.stack += amount + owing));
  toFloat(view, -(amount + owing));
  owe(view, player, owing);
}

function owe(view: TableView, player: string, amount: number): void {
  view.owing = added(view.owing, player, amount);
  if (view.seats[player]) seat(view, player, (each) => (each.owing = view.owing[player] ?? 0));
}

/** Add an amount to the float, which only staff can see. */
export function toFloat(view: TableView, amount: number): void {
  if (view.float_amount !== null) view.float_amount += amount;
}

function toDrop(view: TableView, amount: number): void {
  if (view.drop !== null) view.drop += amount;
}

/** Return the amounts with one of them changed; zero amounts are removed. */
export function added(amounts: Record<string, number>, name: string, amount: number): Record<string, number> {
  const changed = { ...amounts };
  const now = (changed[name] ?? 0) + amount;
  if (now) changed[name] = now;
  else delete changed[name];
  return changed;
}
