// Determine the steps of a round that are done, next or possible now, and who may take them. Pure. The server
// decides; this only keeps the screen from offering commands that it would refuse.

import type { GameView, Step, TableView } from "../../api/schema.d.ts";

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

/** Return the first step of the procedure that is not done. */
export function nextStep(game: GameView, view: TableView): StepName | undefined {
  const done = doneSteps(game, view);
  return game.conduct.procedure.order.find((each) => !done.includes(each));
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
  return ranks.length ? [...roles, ...rule.roles.slice(Math.min(...ranks))] : roles;
}

const DEALING: Roles = ["dealer", "supervisor", "pit-manager"];
export const STAFF: Roles = [...DEALING, "shift-manager"];
export const SUPERVISORS: Roles = STAFF.slice(1);

export function mayStep(game: GameView, name: StepName, mine: Roles): boolean {
  const step = game.conduct.procedure.steps[name];
  if (!step) return false;
  const allowed = withStandIns(game, step.by);
  return mine.some((role) => DEALING.includes(role) && allowed.includes(role));
}

/** Whether these roles may perform an act that is not a step; `silent` applies if the rulebook has no rule. */
export function mayAct(game: GameView, act: string, mine: Roles, silent: Roles = []): boolean {
  const rule = game.conduct.people.acts[act];
  const allowed: Roles = rule ? rule.by : silent;
  return mine.some((role) => allowed.includes(role));
}

/** Whether a step waits for the shooter, who chooses the dice, and throws unless absent. */
export function waitsForShooter(game: GameView, view: TableView, name: StepName): boolean {
  const by: Roles = game.conduct.procedure.steps[name]?.by ?? [];
  if (!by.includes("shooter")) return false;
  return !by.includes("dealer") || (view.shooter !== null && !view.shooter.absent);
}

/** Whether bets may be placed, changed and withdrawn. */
export function betting(view: TableView): boolean {
  const done = view.round?.done ?? [];
  return done.includes("open-betting") && !done.includes("close-betting");
}

/** Whether the result may still be amended. */
export function amendable(view: TableView): boolean {
  return !!view.round?.result && !view.round.done.includes("collect-losers");
}

export const clausesOf = (thing: { clause: Step["clause"] }): string =>
  Array.isArray(thing.clause) ? thing.clause.join(", ") : thing.clause;

/** Return the first clause of the rulebook itself, for a list; clauses borrowed from others are too long. */
export function firstClause(thing: { clause: Step["clause"] }): string {
  const own = [thing.clause].flat().filter((each) => !each.includes(" "));
  return own.length > 1 ? `${own[0]} …` : (own[0] ?? "");
}
