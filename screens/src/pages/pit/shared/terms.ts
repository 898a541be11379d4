// The terms on which a table opens, as editable texts: proposals, faults, and the command that opens the table.

import type { TableCommand } from "../../../api/commands.ts";
import type { BoxView, GameView, PlannedOpening, TableView } from "../../../api/schema.d.ts";
import { faceValue } from "../../../chips/counts.ts";
import type { Counts } from "../../../chips/counts.ts";
import { chipsText, parseChips, usualChips } from "../../../lib/denominations.ts";
import { short, typed } from "../../../lib/money.ts";
import { draftOf, familiesOf, limitsOf, rangeOf } from "../limits/limits.ts";
import type { Draft, Typed } from "../limits/limits.ts";

export interface Terms {
  mode: "record" | "refuse";
  chips: string;
  float: string;
  limits: Draft;
}

/** Why an amount cannot be used: not an amount, a minimum above its maximum, not payable in chips. */
export type AmountFault = "amount" | "range" | "step";

export interface TermsFaults {
  chips: boolean;
  float: AmountFault | null;
  /** By family or box, and the differential by the first box of its pair. */
  limits: Record<string, AmountFault>;
  differential: Record<string, AmountFault>;
}

/** The payout of a proposed maximum, in the largest chips. */
const PAYOUT_CHIPS = 20;
/** The proposed float, in the largest chips. */
const FLOAT_CHIPS = 100;
/** The proposed differential, in maxima of the first box. */
const DIFFERENTIAL_MAXIMA = 10;

/** Propose the terms of a table that has not been opened on its game. */
export function usualTerms(game: GameView, currency: string, dealtByHouse: boolean): Terms {
  const chips = usualChips(currency);
  const show = (amount: number) => short(amount, currency);
  return {
    mode: dealtByHouse ? "refuse" : "record",
    chips: chipsText(chips, currency),
    float: show(FLOAT_CHIPS * chips.at(-1)!),
    limits: draftOf(usualLimits(game, chips), show),
  };
}

function usualLimits(game: GameView, chips: readonly number[]) {
  const families = Object.fromEntries(
    [...familiesOf(game).keys()].map((family) => [family, usualRange(boxesOf(game, family), chips)]),
  );
  const differential = Object.fromEntries(
    pairsOf(game).map(([first]) => [first, DIFFERENTIAL_MAXIMA * families[first.split(":")[0]!]!.maximum]),
  );
  return { families, boxes: {}, differential };
}

/** Propose stakes from the second chip to one chip of the largest, less where the odds are long. */
function usualRange(boxes: readonly BoxView[], chips: readonly number[]) {
  const step = stepOf(boxes, chips);
  const minimum = Math.ceil((chips[1] ?? chips[0]!) / step) * step;
  const most = Math.max(1, ...boxes.flatMap((box) => box.lines.map((line) => oddsToOne(line.odds))));
  const top = chips.at(-1)!;
  const maximum = roundNumberUpTo(Math.min(top, (PAYOUT_CHIPS * top) / most));
  return { minimum, maximum: Math.max(minimum, Math.floor(maximum / step) * step) };
}

function oddsToOne(odds: string): number {
  const [, a, b] = /^(\d+)\D+(\d+)$/.exec(odds) ?? [];
  return a && b ? Number(a) / Number(b) : 1;
}

/** Return the largest of 1, 2, 5, 10, 20, 50 and so on that is not above an amount. */
function roundNumberUpTo(amount: number): number {
  const power = 10 ** Math.floor(Math.log10(amount));
  return ([5, 2].find((each) => each * power <= amount) ?? 1) * power;
}

/** Return the terms on which a closed table was open last; its float is counted anew. */
export function lastTerms(view: TableView): Terms {
  const show = (amount: number) => short(amount, view.currency);
  return {
    mode: view.mode === "refuse" ? "refuse" : "record",
    chips: chipsText(view.chips, view.currency),
    float: "",
    limits: draftOf(view.limits!, show),
  };
}

/** Return the terms of the house file; the float is counted. */
export function plannedTerms({ mode, chips, limits }: PlannedOpening, currency: string): Terms {
  const show = (amount: number) => short(amount, currency);
  return { mode, chips: chipsText(chips, currency), float: "", limits: draftOf(limits, show) };
}

/** Return the faults of terms; the float is none of them if it is `counted` by denomination. */
export function faultsOf(terms: Terms, game: GameView, currency: string, counted = false): TermsFaults {
  const { chips, fault } = parseChips(terms.chips, currency);
  const payable = fault ? [1] : chips;
  const limits: Record<string, AmountFault> = {};
  for (const [name, range] of [...Object.entries(terms.limits.families), ...Object.entries(terms.limits.boxes)]) {
    const boxes = name in terms.limits.families ? boxesOf(game, name) : game.boxes.filter((box) => box.id === name);
    const wrong = rangeFault(range, stepOf(boxes, payable), currency);
    if (wrong) limits[name] = wrong;
  }
  const differential: Record<string, AmountFault> = {};
  for (const [first] of pairsOf(game)) {
    const amount = typed(terms.limits.differential[first] ?? "", currency);
    if (!amount) differential[first] = "amount";
    else if (amount % payable[0]!) differential[first] = "step";
  }
  const float = typed(terms.float, currency);
  return {
    chips: !!fault,
    float: counted ? null : float === null ? "amount" : float % payable[0]! ? "step" : null,
    limits,
    differential,
  };
}

function rangeFault(range: Typed, step: number, currency: string): AmountFault | null {
  const [least, most] = [typed(range.minimum, currency), typed(range.maximum, currency)];
  if (!least || !most) return "amount";
  if (!rangeOf(range, currency)) return "range";
  return least % step || most % step ? "step" : null;
}

/** Whether an amount alone causes the fault of its limits; both do if the minimum is above the maximum. */
export function isWrong(text: string, fault: AmountFault | undefined, step: number, currency: string): boolean {
  const amount = typed(text, currency);
  return fault === "range" || (!!fault && (!amount || (fault === "step" && amount % step > 0)));
}

export function isFaulty(faults: TermsFaults): boolean {
  return (
    faults.chips || !!faults.float || Object.keys(faults.limits).length + Object.keys(faults.differential).length > 0
  );
}

/** Return the command that opens a table, in chips if its rack was counted; its terms must have no fault. */
export function openingOf(table: string, currency: string, terms: Terms, rack: Counts | null = null): TableCommand {
  return {
    type: "OpenTable",
    table,
    currency,
    mode: terms.mode,
    chips: parseChips(terms.chips, currency).chips,
    float_amount: rack ? faceValue(rack) : typed(terms.float, currency)!,
    limits: limitsOf(terms.limits, currency)!,
    ...(rack && { rack }),
  };
}

const boxesOf = (game: GameView, family: string) => game.boxes.filter((box) => box.family === family);

export const pairsOf = (game: GameView) => game.conduct.limits.differential?.pairs ?? [];

/** Return the amount of which stakes on boxes must be multiples to be paid exactly in chips. */
export function stepOf(boxes: readonly BoxView[], chips: readonly number[]): number {
  return chips[0]! * boxes.reduce((least, { unit }) => (least * unit) / commonDivisor(least, unit), 1);
}

const commonDivisor = (a: number, b: number): number => (b ? commonDivisor(b, a % b) : a);
