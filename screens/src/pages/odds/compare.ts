// Compare two games box by box, and determine which has the lower house edge on each.

import type { FiguresView, SheetView } from "../../api/schema.d.ts";
import { share } from "./mix.ts";

export type Verdict = "same" | "better" | "worse" | "only-here" | "only-there";

export interface Compared {
  box: string;
  here?: FiguresView;
  there?: FiguresView;
  /** Percentage points by which the edge of the other game is higher. */
  points: number;
  verdict: Verdict;
}

/** Return every box of either game, in the order of the first; exact fractions decide equality. */
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

/** Count the boxes of each verdict. */
export function counted(rows: readonly Compared[]): Record<Verdict, number> {
  const found: Record<Verdict, number> = { same: 0, better: 0, worse: 0, "only-here": 0, "only-there": 0 };
  for (const row of rows) found[row.verdict]++;
  return found;
}
