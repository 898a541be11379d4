// Fold events into the view of a table. Pure; a test compares the result with the server's views, event by event.

import type { Event, GameView, LiveEvent, RoundView, TableView } from "../api/schema.d.ts";
import * as chips from "./chips.ts";

type Step = RoundView["done"][number];

/** The steps that a repeated throw takes again. */
const STEPS_FROM_THROW: readonly Step[] = [
  "throw",
  "uncover",
  "call-result",
  "enter-result",
  "illuminate",
  "collect-losers",
];

/**
 * Apply an event to a view of this game, and return the new view, which shares its unchanged parts. The game must
 * be the view's own: a table that is set up for another game starts a new view.
 */
export function folded(view: TableView, happened: LiveEvent, game: GameView): TableView {
  const next = { ...view, version: happened.version };
  if (happened.event) apply(next, happened.event, happened.at, game);
  for (const [spot, change] of Object.entries(happened.totals))
    if (next.round) round(next, { totals: chips.added(next.round.totals, spot, change) });
  next.betting_closes = closingTime(next);
  return next;
}

function apply(view: TableView, event: Event, at: number, game: GameView): void {
  switch (event.type) {
    case "TableOpened":
      view.open = true;
      view.currency = event.currency;
      view.mode = event.mode;
      view.chips = event.chips;
      view.limits = event.limits;
      if (view.float_amount === null) break; // only staff see the rest
      view.checks_missing = Object.keys(game.conduct.opening ?? {});
      view.checks_failed = {};
      view.float_amount = event.float_amount;
      view.drop = 0;
      break;
    case "CheckPassed":
      checks(view, game, [], [event.check]);
      delete (view.checks_failed = { ...view.checks_failed })[event.check];
      break;
    case "CheckFailed":
      view.checks_failed = { ...view.checks_failed, [event.check]: event.piece };
      checks(view, game, [event.check], []);
      break;
    case "PieceRegistered":
    case "DiceInstalled":
      checks(view, game, event.rechecks ?? [], []);
      break;
    case "PieceReplaced":
      failedBy(view, event.piece);
      checks(view, game, event.rechecks ?? [], []);
      break;
    case "PieceReleased": {
      const over = failedBy(view, event.piece);
      if (event.remedy !== "rectified") checks(view, game, [], over);
      break;
    }
    case "DiceInspected":
      if (event.good) failedBy(view, event.piece);
      break;
    case "DiceRemoved":
      failedBy(view, event.piece);
      break;
    case "LimitsSet":
      view.next_limits = event.limits;
      break;
    case "FloatFilled":
      chips.toFloat(view, event.amount);
      break;
    case "FloatCredited":
      chips.toFloat(view, -event.amount);
      break;
    case "RackCounted":
      chips.toFloat(view, chips.faceValue(event.counted) - chips.faceValue(event.expected));
      break;
    case "TableClosed":
      view.open = false;
      view.next_limits = null;
      view.shooter = null;
      view.standing = {};
      view.last_settled = 0;
      for (const [player] of event.carried_away) chips.leave(view, player);
      if (view.float_amount !== null) view.float_amount = view.drop = 0;
      break;
    case "TableLocked":
      view.locked = [...new Set([...view.locked, event.cause])];
      break;
    case "TableReleased":
      view.locked = event.cause ? view.locked.filter((cause) => cause !== event.cause) : [];
      if (view.round) round(view, { unnamed: view.round.unnamed.filter((cause) => view.locked.includes(cause)) });
      break;
    case "PieceFailed":
      if (view.round) {
        const skipped = [...view.round.skipped, ...(event.skipped ?? [])];
        const { unnamed } = view.round; // its last is of the same report, if that named this piece
        round(view, { skipped, unnamed: unnamed.at(-1) === event.cause ? unnamed.slice(0, -1) : unnamed });
      }
      for (const step of event.skipped ?? []) done(view, step, game);
      break;
    case "RoundStarted":
      view.rounds = event.round;
      view.round = {
        number: event.round,
        done: [],
        totals: view.standing,
        known: [],
        called: null,
        keys: [],
        result: null,
        skipped: event.skipped ?? [],
        unnamed: [],
        stopped: null,
      };
      view.standing = {};
      for (const step of event.skipped ?? []) done(view, step, game);
      break;
    case "BettingOpened":
      view.limits = event.limits;
      view.next_limits = null;
      view.betting_since = at;
      done(view, "open-betting", game);
      break;
    case "BettingClosed":
      done(view, "close-betting", game);
      break;
    case "StepTaken":
      if (event.step === "throw") view.last_settled = 0;
      done(view, event.step, game);
      break;
    case "DiceOffered":
      view.shooter = { player: event.player, dice: [], stake: 0, throws: 0, absent: false };
      done(view, "offer-dice", game);
      undone(view, "choose-dice");
      break;
    case "DiceChosen":
      shooter(view, { dice: event.dice });
      done(view, "choose-dice", game);
      break;
    case "DiceTumbled":
      view.last_settled = 0;
      done(view, "tumble", game);
      break;
    case "ResultCalled":
      round(view, { called: event.dice });
      done(view, "call-result", game);
      break;
    case "KeyPressed":
      if (view.round) round(view, { keys: [...view.round.keys.slice(-2), event.key] });
      break;
    case "ResultEntered":
      round(view, { result: event.dice, keys: [] });
      done(view, "enter-result", game);
      break;
    case "ResultAmended":
      round(view, { called: event.dice, ...(view.round?.result && { result: event.dice }) });
      if (!view.round?.skipped.includes("illuminate")) undone(view, "illuminate");
      break;
    case "AreasLit":
      done(view, "illuminate", game);
      break;
    case "LosersCollected":
      chips.change(view, event, game);
      done(view, "collect-losers", game);
      break;
    case "AreaPaid":
      chips.change(view, event, game);
      break;
    case "WinnersPaid":
      chips.change(view, event, game);
      view.last_settled = event.round;
      view.round = null;
      break;
    case "RoundVoided":
      view.rounds = event.round;
      if (event.bets === "stand") view.standing = view.round?.totals ?? {};
      else view.standing = {};
      chips.change(view, event, game);
      view.round = null;
      break;
    case "RoundStopped":
      round(view, { stopped: { cause: event.cause, by: event.by } });
      break;
    case "RoundResumed":
      round(view, { stopped: null });
      break;
    case "ShooterAdvanced":
      shooter(view, { throws: event.throws });
      break;
    case "ShooterWon":
    case "ShooterLost":
      chips.change(view, event, game);
      view.shooter = null;
      break;
    case "ShooterRestored":
      chips.change(view, event, game);
      view.shooter = {
        player: event.player,
        dice: event.dice,
        stake: event.stake,
        throws: event.throws,
        absent: event.absent ?? false,
      };
      break;
    case "ThrowRepeated":
      chips.change(view, event, game);
      for (const step of STEPS_FROM_THROW) if (!view.round?.skipped.includes(step)) undone(view, step);
      round(view, { known: [], keys: [], called: null, result: null, stopped: null });
      break;
    case "RoundContinued":
      round(view, { known: event.known });
      unnamed(view, "interruption");
      break;
    case "IrregularityNoted":
      unnamed(view, event.irregularity);
      if (view.shooter && event.player === view.shooter.player)
        shooter(view, { absent: event.irregularity === "walked-away" });
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
    default: // the event moves chips, or changes nothing in the view
      chips.change(view, event, game);
  }
}

/** Add checks to those that are missing, in the rulebook's order, and take others away. */
function checks(view: TableView, game: GameView, missing: string[], made: string[]): void {
  const now = new Set([...view.checks_missing, ...missing].filter((check) => !made.includes(check)));
  view.checks_missing = Object.keys(game.conduct.opening ?? {}).filter((check) => now.has(check));
}

/** End the failure of checks by a piece of equipment, and return those checks. */
function failedBy(view: TableView, piece: string): string[] {
  const failed = Object.entries(view.checks_failed);
  view.checks_failed = Object.fromEntries(failed.filter(([, by]) => by !== piece));
  return failed.filter(([, by]) => by === piece).map(([check]) => check);
}

/** Return when betting closes at a table that the server deals; 0 if it is not open. */
function closingTime(view: TableView): number {
  const done = view.round?.done ?? [];
  const betting = done.includes("open-betting") && !done.includes("close-betting");
  if (!betting || !view.dealt_by_house) return 0;
  return view.betting_since + Math.round((view.dealt_by_house.betting_seconds ?? 20) * 1_000_000);
}

function round(view: TableView, changes: Partial<RoundView>): void {
  if (view.round) view.round = { ...view.round, ...changes };
}

/** Add an irregularity of which no piece of equipment is known; only staff see them. */
function unnamed(view: TableView, cause: RoundView["unnamed"][number]): void {
  if (view.round && view.float_amount !== null) round(view, { unnamed: [...view.round.unnamed, cause] });
}

function shooter(view: TableView, changes: Partial<NonNullable<TableView["shooter"]>>): void {
  if (view.shooter) view.shooter = { ...view.shooter, ...changes };
}

/** Mark a step as done; steps are kept in procedure order, whatever the order of events. */
function done(view: TableView, step: Step, game: GameView): void {
  const taken = new Set([...(view.round?.done ?? []), step]);
  round(view, { done: game.conduct.procedure.order.filter((each) => taken.has(each)) });
}

function undone(view: TableView, step: Step): void {
  if (view.round) round(view, { done: view.round.done.filter((each) => each !== step) });
}
