// Determine the steps of a round that are done, next or possible now, and who may take them. Pure. The server
// decides; this only keeps the screen from offering commands that it would refuse.

import type { GameView, Step, TableView } from "../../api/schema.d.ts";
import { ownClauses } from "../../lib/game.ts";
import { SUPERVISORS } from "../../lib/roles.ts";

export type StepName = GameView["conduct"]["procedure"]["order"][number];

/** The roles of a person at this table, as the rules name them. */
export type Roles = readonly string[];

/** Return the steps that are done, or that a round beginning now skips. */
export function doneSteps(game: GameView, view: TableView): readonly StepName[] {
  if (view.round) return view.round.done;
  const { order, steps } = game.conduct.procedure;
  return inSeries(view) ? order.filter((each) => steps[each]?.per === "shooter") : [];
}

/** Whether a shooter's bet is placed; the shooter then keeps the dice until it is decided. */
export function inSeries(view: TableView): boolean {
  return (view.shooter?.stake ?? 0) > 0;
}

/** Return the first step that is still to be taken; `byDice` leaves out the optional ones. */
export function nextStep(game: GameView, view: TableView, byDice = false): StepName | undefined {
  const done = doneSteps(game, view);
  const { order } = game.conduct.procedure;
  const passed = order.findLastIndex((each) => done.includes(each) && !isOptional(game, view, each));
  return order.find((each, i) => !done.includes(each) && !(isOptional(game, view, each) && (byDice || i < passed)));
}

/** Whether a step may be left out: it is optional, or equipment of it has failed, and the report names no piece. */
export function isOptional(game: GameView, view: TableView, name: StepName): boolean {
  const step = game.conduct.procedure.steps[name];
  const causes = view.locked.filter((cause) => view.round?.unnamed.includes(cause));
  const failed = causes.flatMap((cause) => game.conduct.irregularities[cause]?.pieces ?? []);
  return !!step?.optional || !!step?.equipment?.some((kind) => failed.includes(kind));
}

/** Return the steps that may be taken before their turn, such as tumbling under cover. */
export function earlySteps(game: GameView, view: TableView): StepName[] {
  const done = doneSteps(game, view);
  const { order, steps } = game.conduct.procedure;
  const next = nextStep(game, view);
  return order.filter((each) => {
    const early = steps[each]?.as_early_as;
    if (!early || each === next || done.includes(each)) return false;
    return order.slice(0, order.indexOf(early) + 1).every((before) => done.includes(before));
  });
}

/** Add the senior roles that may stand in for these roles under the rulebook. */
export function withStandIns(game: GameView, roles: Roles): Roles {
  const rule = game.conduct.people.stand_in;
  if (!rule) return roles;
  const ranks = roles.map((role) => (rule.roles as string[]).indexOf(role)).filter((rank) => rank >= 0);
  return ranks.length ? [...new Set([...roles, ...rule.roles.slice(Math.min(...ranks))])] : roles;
}

export const STAFF: Roles = ["dealer", ...SUPERVISORS];
/** Staff who take part in a round; some rulebooks have a game supervisor besides the supervisor. */
export const ROUND_STAFF: Roles = [...STAFF, "game-supervisor"];

/** Return the roles whose approval counts where an act takes two people. */
export const approvers = (game: GameView): Roles => game.conduct.people.approvals?.by ?? SUPERVISORS;

export function mayStep(game: GameView, name: StepName, mine: Roles): boolean {
  return mayDeal(game, game.conduct.procedure.steps[name]?.by ?? [], mine);
}

/** Whether these roles may record that the shooter has taken a step. */
export function mayRecord(game: GameView, name: StepName, mine: Roles): boolean {
  return mayDeal(game, game.conduct.procedure.steps[name]?.recorded_by ?? [], mine);
}

function mayDeal(game: GameView, roles: Roles, mine: Roles): boolean {
  const allowed = withStandIns(game, roles);
  return mine.some((role) => role !== "shift-manager" && ROUND_STAFF.includes(role) && allowed.includes(role));
}

/** Whether these roles may perform an act that is not a step; `silent` applies if the rulebook has no rule. */
export function mayAct(game: GameView, act: string, mine: Roles, silent: Roles = []): boolean {
  const rule = game.conduct.people.acts[act];
  const allowed: Roles = rule ? rule.by : silent;
  return mine.some((role) => allowed.includes(role));
}

/** Return the roles that may release the table, or a piece of its equipment. */
export const releasers = (game: GameView): Roles => game.conduct.people.acts["release-table"]?.by ?? SUPERVISORS;

/** Whether these roles may run the test mode: those who operate the equipment, or make a check by testing it. */
export function mayTest(game: GameView, mine: Roles): boolean {
  const act = game.conduct.people.acts["operate-equipment"];
  const checks = Object.values(game.conduct.opening ?? {}).filter((check) => check.test);
  const allowed: Roles = [...(act ? withStandIns(game, act.by) : STAFF), ...checks.flatMap((check) => check.by)];
  return mine.some((role) => allowed.includes(role));
}

/** Whether these roles may record what a player does, such as a call bet. */
export function mayRecordAct(game: GameView, act: string, mine: Roles): boolean {
  return mayDeal(game, game.conduct.people.acts[act]?.recorded_by ?? [], mine);
}

/** Whether a step waits for the shooter, who chooses the dice, and throws unless absent. */
export function waitsForShooter(game: GameView, view: TableView, name: StepName): boolean {
  const by: Roles = game.conduct.procedure.steps[name]?.by ?? [];
  if (!by.includes("shooter")) return false;
  return !by.includes("dealer") || (view.shooter !== null && !view.shooter.absent);
}

/** Whether betting has closed and the dice lie open, or any is called or known; a stopped round counts as one. */
export function areDiceSeen(game: GameView, view: TableView): boolean {
  const { order } = game.conduct.procedure;
  const shows = order.find((each) => each === "uncover" || each === "throw") ?? "tumble";
  const { round } = view;
  if (!round) return false;
  const isKnown = !!round.called || round.known.length > 0 || !!round.stopped;
  return isKnown || (round.done.includes("close-betting") && round.done.includes(shows));
}

/** Whether bets may be placed, changed and withdrawn. */
export function betting(view: TableView): boolean {
  const done = view.round?.done ?? [];
  return done.includes("open-betting") && !done.includes("close-betting");
}

/** Whether the result may still be amended: once it is entered, or called where entering it is optional. */
export function amendable(game: GameView, view: TableView): boolean {
  const dice = isOptional(game, view, "enter-result") ? view.round?.called : view.round?.result;
  return !!dice && !view.round!.done.includes("collect-losers");
}

/** Return the clauses of the table's own rulebook; clauses that it borrows from others do not apply here by themselves. */
export const clausesOf = (thing: { clause: Step["clause"] }): string => ownClauses(thing.clause).join(", ");

/** Return the first clause of the table's own rulebook, for a list. */
export function firstClause(thing: { clause: Step["clause"] }): string {
  const own = ownClauses(thing.clause);
  return own.length > 1 ? `${own[0]} …` : (own[0] ?? "");
}
