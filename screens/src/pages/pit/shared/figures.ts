// Add up shift reports, compare the win with its theoretical value, and export CSV.

import type { ShiftReportView } from "../../../api/schema.d.ts";
import { csvText, decimal } from "../../../lib/csv.ts";
import { approximate, fraction, NOTHING, plus, rounded } from "./fraction.ts";

/** The figures of one or several tables; amounts are from the house's side, in minor units. */
export interface Figures {
  rounds: number;
  void: number;
  seedsLost: number;
  fills: number;
  credits: number;
  drop: number;
  turnover: number;
  win: number;
  theory: number;
  sd: number;
  band: readonly [number, number];
  /** The win in percent of the drop, or null without a drop. */
  hold: number | null;
  theoryHold: number | null;
}

export type Judged = "none" | "within" | "above" | "below";

/** Standard deviations on either side that cover 95 % of a normal distribution. */
const BAND = 1.96;

/** Add up the figures of reports; standard deviations are combined by their variances. */
export function together(reports: readonly ShiftReportView[]): Figures {
  const sum = (of: (each: ShiftReportView) => number) => reports.reduce((all, each) => all + of(each), 0);
  const theory = reports.map((each) => fraction(each.theoretical_win)).reduce(plus, NOTHING);
  const variance = reports.map((each) => fraction(each.variance)).reduce(plus, NOTHING);
  const sd = Math.sqrt(approximate(variance));
  const [drop, win, mean] = [sum((each) => each.drop), sum((each) => each.win), approximate(theory)];
  return {
    rounds: sum((each) => each.rounds),
    void: sum((each) => each.void),
    seedsLost: sum((each) => each.seeds_lost),
    fills: sum((each) => each.fills),
    credits: sum((each) => each.credits),
    drop,
    turnover: sum((each) => each.turnover),
    win,
    theory: rounded(theory),
    sd,
    band:
      reports.length === 1
        ? ([reports[0]!.band_low, reports[0]!.band_high] as const)
        : [Math.floor(mean - BAND * sd), Math.ceil(mean + BAND * sd)],
    hold: drop ? (100 * win) / drop : null,
    theoryHold: drop ? (100 * mean) / drop : null,
  };
}

/** Judge whether the win lies within the 95 % range of chance. */
export function judged(figures: Figures): Judged {
  if (!figures.turnover) return "none";
  if (figures.win < figures.band[0]) return "below";
  return figures.win > figures.band[1] ? "above" : "within";
}

export interface Row {
  table: string;
  game: string;
  currency: string;
  figures: Figures;
}

export interface Span {
  since: string;
  until: string;
}

export const COLUMNS = [
  "table",
  "game",
  "currency",
  "since",
  "until",
  "rounds",
  "void",
  "fills",
  "credits",
  "drop",
  "turnover",
  "win",
  "theoretical_win",
  "sd",
  "band_low",
  "band_high",
  "hold_percent",
] as const;

/** Format the report as CSV; amounts have the currency's decimals and no separators. */
export function csv(rows: readonly Row[], span: Span, digits: number): string {
  const lines = rows.map(({ table, game, currency, figures }) => {
    const { fills, credits, drop, turnover, win, theory, sd, band, hold } = figures;
    const amounts = [fills, credits, drop, turnover, win, theory, Math.round(sd), band[0], band[1]];
    return [
      table,
      game,
      currency,
      span.since,
      span.until,
      figures.rounds,
      figures.void,
      ...amounts.map((amount) => decimal(amount, digits)),
      hold === null ? "" : hold.toFixed(2),
    ];
  });
  return csvText(COLUMNS, lines);
}
