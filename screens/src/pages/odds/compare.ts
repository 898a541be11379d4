// Two games side by side: the same boxes, and which game is kinder to players on each.

import type { FiguresView, SheetView } from "../../api/schema.d.ts";
import { share } from "./mix.ts";

export type Verdict = "same" | "better" | "worse" | "only-here" | "only-there";

export interface Compared {
  box: string;
  here?: FiguresView;
  there?: FiguresView;
  /** Points of a per cent by which the edge is higher there. */
  points: number;
  verdict: Verdict;
}

/** Every box of either game, those of the first in its order; exact fractions decide what is alike. */
export function compared(here: SheetView, there: SheetView): Compared[] {
  const other = new Map(there.boxes.map((each) => [each.box, each.figures]));
  const rows = here.boxes.map(({ box, figures }) => judged(box, figures, other.get(box)));
  const known = new Set(here.boxes.map((each) => each.box));
  const rest = there.boxes.filter((each) => !known.has(each.box));
  return [...rows, ...rest.map(({ box, figures }) => judged(box, undefined, figures))];
}

function judged(box: string, here: FiguresView | undefined, there: FiguresView | undefined): Compared {
  if (!here || !there) return { box, here, there, points: 0, verdict: here ? "only-here" : "only-there" };
  if (here.edge === there.edge) return { box, here, there, points: 0, verdict: "same" };
  const points = (share(there.edge) - share(here.edge)) * 100;
  return { box, here, there, points, verdict: points < 0 ? "better" : "worse" };
}

/** How many boxes there are of each verdict. */
export function counted(rows: readonly Compared[]): Record<Verdict, number> {
  const found: Record<Verdict, number> = { same: 0, better: 0, worse: 0, "only-here": 0, "only-there": 0 };
  for (const row of rows) found[row.verdict]++;
  return found;
}
