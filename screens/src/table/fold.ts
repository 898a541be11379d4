// A table as this screen knows it: the view that the house gave, and every event since. Pure, and
// compared with the house's own views by a test, event by event.

import type { Event, Happened, RoundView, SeatView, TableView } from "../api/schema.d.ts";

/** Apply what has happened to a view, and return the new one; what did not change is shared. */
export function folded(view: TableView, happened: Happened): TableView {
  const next = { ...view, version: happened.version };
  if (happened.event) apply(next, happened.event, happened.at);
  if (next.round) next.round = withTotals(next.round, happened.totals);
  return next;
}

function withTotals(round: RoundView, changes: Record<string, number>): RoundView {
  if (!Object.keys(changes).length) return round;
  const totals = { ...round.totals };
  for (const [spot, change] of Object.entries(changes)) add(totals, spot, change);
  return { ...round, totals };
}

function apply(view: TableView, event: Event, at: number): void {
  switch (event.type) {
    case "TableOpened":
      view.open = true;
      view.currency = event.currency;
      view.mode = event.mode;
      view.chips = event.chips;
      view.limits = event.limits;
      view.checks_missing = view.checks_missing.length ? view.checks_missing : [];
      if (view.float_amount !== null) {
        view.float_amount = event.float_amount;
        view.drop = 0;
      }
      break;
    case "CheckPassed":
      view.checks_missing = view.checks_missing.filter((check) => check !== event.check);
      break;
    case "FloatFilled":
      float(view, event.amount);
      break;
    case "FloatCredited":
      float(view, -event.amount);
      break;
    case "TableClosed":
      view.open = false;
      view.seats = {};
      view.shooter = null;
      view.round = null;
      if (view.float_amount !== null) view.float_amount = view.drop = 0;
      break;
    case "TableLocked":
      view.locked = event.cause;
      break;
    case "TableReleased":
      view.locked = "";
      break;
    case "BoughtIn":
      seat(view, event.player, (each) => (each.stack += event.amount));
      float(view, -event.amount);
      if (event.source === "cash") drop(view, event.amount);
      break;
    case "CashedOut":
      seat(view, event.player, (each) => (each.stack -= event.amount));
      if (event.to === "account") float(view, event.amount);
      if (!view.seats[event.player]?.stack && !view.seats[event.player]?.at_risk) leave(view, event.player);
      break;
    case "DebtRepaid":
      seat(view, event.player, (each) => {
        each.owing -= event.amount;
        if (event.source === "stack") each.stack -= event.amount;
      });
      if (event.source === "stack") float(view, event.amount);
      else drop(view, event.amount);
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
    case "RoundStarted":
      view.rounds = event.round;
      view.round = { number: event.round, done: [...(event.skipped ?? [])], totals: {}, known: [], called: null, keys: [], result: null };
      break;
    case "BettingOpened":
      view.limits = event.limits;
      view.betting_since = at;
      if (view.dealt_by_house) view.betting_closes = at + Math.round((view.dealt_by_house.betting_seconds ?? 20) * 1_000_000);
      done(view, "open-betting");
      break;
    case "BettingClosed":
      view.betting_closes = 0;
      done(view, "close-betting");
      break;
    case "StepTaken":
      done(view, event.step);
      break;
    case "BetPlaced":
      seat(view, event.player, (each) => {
        each.stack -= event.amount;
        each.at_risk += event.amount;
        if (event.manner !== "shooter") each.bets = added(each.bets, event.spot, event.amount);
      });
      break;
    case "BetWithdrawn":
    case "BetRejected":
      takenBack(view, event.player, event.spot, event.amount);
      break;
    case "LineJudged":
      if (!event.accepted) takenBack(view, event.player, event.spot, event.amount);
      break;
    case "ChipsMoved":
    case "ChipsPutBack":
      seat(view, event.player, (each) => {
        each.bets = added(added(each.bets, event.spot, -event.amount), event.to_spot, event.amount);
      });
      break;
    case "DiceOffered":
      view.shooter = { player: event.player, dice: [], stake: 0, throws: 0, absent: false };
      done(view, "offer-dice");
      undone(view, "choose-dice");
      break;
    case "DiceChosen":
      done(view, "choose-dice");
      break;
    case "DiceTumbled":
      done(view, "tumble");
      break;
    case "ResultCalled":
      round(view, { called: event.dice });
      done(view, "call-result");
      break;
    case "KeyPressed":
      if (view.round) round(view, { keys: [...view.round.keys.slice(-2), event.key] });
      break;
    case "ResultEntered":
      round(view, { result: event.dice, keys: [] });
      done(view, "enter-result");
      break;
    case "ResultAmended":
      round(view, { result: event.dice, called: event.dice });
      undone(view, "illuminate");
      break;
    case "AreasLit":
      done(view, "illuminate");
      break;
    case "BetsApportioned":
      for (const [spot, player, stake, plays] of event.bets) takenBack(view, player, spot, stake - plays);
      break;
    case "LosersCollected":
      for (const [, player, amount] of event.bets) {
        seat(view, player, (each) => (each.at_risk -= amount));
        float(view, amount);
      }
      done(view, "collect-losers");
      break;
    case "WinnersPaid":
      for (const [, player, stake, winnings] of event.bets) {
        seat(view, player, (each) => {
          each.at_risk -= stake;
          each.stack += stake + winnings;
        });
        float(view, -winnings);
      }
      endRound(view);
      break;
    case "ShooterAdvanced":
      if (view.shooter) view.shooter = { ...view.shooter, throws: event.throws };
      break;
    case "ShooterWon":
      if (event.stake) {
        seat(view, event.player, (each) => {
          each.at_risk -= event.stake;
          each.stack += event.stake + event.winnings;
        });
        float(view, -event.winnings);
      }
      view.shooter = null;
      break;
    case "ShooterLost":
      if (event.stake) {
        seat(view, event.player, (each) => (each.at_risk -= event.stake));
        float(view, event.stake);
      }
      view.shooter = null;
      break;
    case "RoundVoided":
      for (const [, player, amount] of event.returned)
        seat(view, player, (each) => {
          each.stack += amount;
          each.at_risk -= amount;
        });
      endRound(view);
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
    case "ThrowRepeated":
      undone(view, "throw");
      round(view, { known: [] });
      break;
    case "RoundContinued":
      round(view, { known: event.known });
      break;
    case "IrregularityNoted":
      if (view.shooter && event.player === view.shooter.player)
        view.shooter = { ...view.shooter, absent: event.irregularity === "walked-away" };
      break;
    case "TableEstablished":
      view.game = event.game;
      view.game_hash = event.game_hash;
      view.dealt_by_house = event.dealt_by_house;
      break;
    case "SeedCommitted":
      view.commitment = event.commitment;
      break;
    case "SeedLost":
      view.seeds_lost += 1;
      break;
    case "TableInterrupted":
      view.interrupted = event.round;
      break;
    case "InterruptionResolved":
      view.interrupted = 0;
      break;
    default: // it is told, and changes nothing that is shown
  }
}

const EMPTY: SeatView = { stack: 0, at_risk: 0, colour: "", colour_value: 0, owing: 0, bets: {}, areas: {}, placements: [] };

function seat(view: TableView, player: string, change: (seat: SeatView) => void): void {
  const changed = { ...(view.seats[player] ?? EMPTY) };
  change(changed);
  view.seats = { ...view.seats, [player]: changed };
}

function leave(view: TableView, player: string): void {
  const { [player]: _, ...others } = view.seats;
  view.seats = others;
}

function takenBack(view: TableView, player: string, spot: string, amount: number): void {
  seat(view, player, (each) => {
    each.stack += amount;
    each.at_risk -= amount;
    each.bets = added(each.bets, spot, -amount);
  });
}

function transfer(view: TableView, player: string, amount: number, owing: number): void {
  seat(view, player, (each) => {
    each.stack += amount + owing;
    each.owing += owing;
  });
  float(view, -(amount + owing));
}

function float(view: TableView, amount: number): void {
  if (view.float_amount !== null) view.float_amount += amount;
}

function drop(view: TableView, amount: number): void {
  if (view.drop !== null) view.drop += amount;
}

function round(view: TableView, changes: Partial<RoundView>): void {
  if (view.round) view.round = { ...view.round, ...changes };
}

function done(view: TableView, step: RoundView["done"][number]): void {
  if (view.round && !view.round.done.includes(step)) round(view, { done: [...view.round.done, step] });
}

function undone(view: TableView, step: RoundView["done"][number]): void {
  if (view.round) round(view, { done: view.round.done.filter((each) => each !== step) });
}

function endRound(view: TableView): void {
  view.round = null;
  view.seats = Object.fromEntries(
    Object.entries(view.seats).map(([player, each]) => [player, { ...each, bets: {} }]),
  );
}

function added(bets: Record<string, number>, spot: string, amount: number): Record<string, number> {
  const changed = { ...bets };
  add(changed, spot, amount);
  return changed;
}

function add(amounts: Record<string, number>, spot: string, amount: number): void {
  const now = (amounts[spot] ?? 0) + amount;
  if (now) amounts[spot] = now;
  else delete amounts[spot];
}
