// Replay a round step by step: each event, and the table after it. Pure.

import type { EntryView, Event, GameView, RoundHistory, TableView } from "../../../api/schema.d.ts";
import type { Pile, PileState } from "../../../felt/felt.ts";
import type { Roll } from "../../../lib/dice.ts";
import { boxOf } from "../../../lib/game.ts";
import { folded } from "../../../table/fold.ts";

export interface Step {
  version: number;
  at: number;
  event: Event;
  /** The event in the words of the log. */
  prose: string;
  view: TableView;
  piles: Pile[];
  lit: ReadonlySet<string>;
  dice: Roll | null;
}

/** Create an empty view of a game's table, onto which a round's events are folded. */
export function emptyView(table: string, game: GameView, like: TableView): TableView {
  return {
    ...like,
    table,
    version: 0,
    game: game.id,
    game_hash: game.hash,
    open: true,
    locked: [],
    interrupted: 0,
    betting_since: 0,
    betting_closes: 0,
    round: null,
    shooter: null,
    seats: {},
    standing: {},
    float_amount: 0,
    drop: 0,
  };
}

/** Return the steps of a round, starting from the view before it. */
export function stepsOf(told: RoundHistory, before: TableView, game: GameView): Step[] {
  let view = before;
  let lit: ReadonlySet<string> = new Set();
  let lying = new Map<string, Pile>();
  return told.events.map((entry, i) => {
    const event = entry.event as Event;
    view = folded(view, happened(entry, event), game);
    if (event.type === "AreasLit") lit = areasOf(game, new Set(event.boxes));
    if (event.type === "ResultAmended" || event.type === "RoundStarted") lit = new Set();
    if (isSettling(event)) lying = settled(lying, event, game);
    else if (view.round && !view.round.done.includes("collect-losers")) lying = chips(view, game);
    const dice = view.round?.called ?? diceOf(event) ?? null;
    return {
      version: entry.version,
      at: entry.at,
      event,
      prose: (told.prose[i] ?? "").trim(),
      view,
      piles: [...lying.values()],
      lit,
      dice,
    };
  });
}

const happened = (entry: EntryView, event: Event) => ({
  version: entry.version,
  at: entry.at,
  event: event as never,
  totals: spotTotalChanges(event),
});

/** Return by how much an event changes the total chips on each spot. */
export function spotTotalChanges(event: Event): Record<string, number> {
  switch (event.type) {
    case "BetPlaced":
      return event.manner === "shooter" ? {} : { [event.spot]: event.amount };
    case "BetWithdrawn":
    case "BetRejected":
      return { [event.spot]: -event.amount };
    case "LineJudged":
      return event.accepted ? {} : { [event.spot]: -event.amount };
    case "ChipsMoved":
    case "ChipsPutBack":
      return event.spot === event.to_spot ? {} : { [event.spot]: -event.amount, [event.to_spot]: event.amount };
    case "BetsApportioned": {
      const changes: Record<string, number> = {};
      for (const [spot, , stake, plays] of event.bets) changes[spot] = (changes[spot] ?? 0) + plays - stake;
      return changes;
    }
    case "AreaPaid":
      return { [event.spot]: -event.bets.reduce((sum, [, , stake]) => sum + stake, 0) };
    default:
      return {};
  }
}

const diceOf = (event: Event): Roll | undefined =>
  event.type === "ResultCalled" || event.type === "WinnersPaid" ? (event.dice as Roll) : undefined;

/** Return the chips of all players by area. */
function chips(view: TableView, game: GameView): Map<string, Pile> {
  const piles = new Map<string, Pile>();
  for (const seat of Object.values(view.seats)) {
    const lie = Object.keys(seat.areas).length ? seat.areas : seat.bets;
    for (const [place, amount] of Object.entries(lie)) put(piles, areaOf(game, place), amount, "placed");
  }
  return piles;
}

const isSettling = (event: Event): boolean =>
  ["LosersCollected", "AreaPaid", "WinnersPaid", "RoundVoided"].includes(event.type);

/** Return the piles after a settlement or a void round, marked as lost, won or returned. */
function settled(lying: Map<string, Pile>, event: Event, game: GameView): Map<string, Pile> {
  const piles = new Map<string, Pile>();
  const onto = (place: string, amount: number, state: PileState) => put(piles, areaOf(game, place), amount, state);
  if (event.type === "LosersCollected") {
    const lost = new Set(event.bets.map(([spot]) => boxOf(spot)));
    for (const pile of lying.values()) onto(pile.area, pile.amount, lost.has(boxOf(pile.area)) ? "lost" : pile.state);
  }
  if (event.type === "AreaPaid" || event.type === "WinnersPaid") {
    const others = [...lying.values()].filter(({ area, state }) =>
      event.type === "WinnersPaid" ? state === "won" : area !== event.spot && boxOf(area) !== event.spot,
    );
    for (const pile of others) onto(pile.area, pile.amount, pile.state);
    for (const [spot, , stake, won] of event.bets) onto(spot, stake + won, "won");
  }
  if (event.type === "RoundVoided")
    for (const pile of lying.values()) onto(pile.area, pile.amount, event.bets === "stand" ? "placed" : "returned");
  return piles;
}

function put(piles: Map<string, Pile>, area: string, amount: number, state: PileState): void {
  const there = piles.get(area);
  if (amount) piles.set(area, { area, amount: (there?.amount ?? 0) + amount, state });
}

/** Return the area of a spot: itself, or the first area of its box. */
function areaOf(game: GameView, place: string): string {
  const areas = game.felt?.areas ?? [];
  return (areas.find((area) => area.id === place) ?? areas.find((area) => area.box === boxOf(place)))?.id ?? place;
}

function areasOf(game: GameView, boxes: ReadonlySet<string>): ReadonlySet<string> {
  return new Set((game.felt?.areas ?? []).filter((area) => boxes.has(area.box)).map((area) => area.id));
}

/** Whether bets of a void round may stand for the next, so that a round may begin with bets placed. */
export function mayStand(game: GameView): boolean {
  const { procedure, irregularities } = game.conduct;
  return procedure.void.bets === "stand" || Object.values(irregularities ?? {}).some((each) => each?.bets === "stand");
}

/** Whether a round ended void with its bets left standing. */
export const leftStanding = (told: RoundHistory): boolean =>
  told.events.some(({ event }) => event.type === "RoundVoided" && event.bets === "stand");
