// Compare two games box by box: what each pays, how often it wins, and which has the lower house edge.

import type { FiguresView, GameView, SheetView } from "../../api/schema.d.ts";
import { boxesById } from "../../lib/game.ts";
import { oddsOfBox } from "../../texts/meanings.ts";
import { share } from "./mix.ts";

export type Verdict = "same" | "better" | "worse" | "only-here" | "only-there";

export interface GameSheet {
  game: GameView;
  sheet: SheetView;
}

/** The figures of a box in one of the games. */
export interface Side {
  pays: string;
  figures: FiguresView;
}

export interface Compared {
  box: string;
  here?: Side;
  there?: Side;
  /** Percentage points by which the edge of the other game is higher. */
  points: number;
  /** The judgement by the house edge. */
  verdict: Verdict;
  /** Whether any figure differs; boxes with one edge may pay differently. */
  differs: boolean;
}

/** Return every box of either game, in the order of the first; exact fractions decide equality. */
export function compared(here: GameSheet, there: GameSheet): Compared[] {
  const [ours, theirs] = [sides(here), sides(there)];
  return [...new Set([...ours.keys(), ...theirs.keys()])].map((box) => judged(box, ours.get(box), theirs.get(box)));
}

function sides({ game, sheet }: GameSheet): Map<string, Side> {
  const boxes = boxesById(game);
  return new Map(
    sheet.boxes.map(({ box, figures }) => {
      const view = boxes.get(box);
      return [box, { pays: view ? oddsOfBox(view) : "", figures }];
    }),
  );
}

function judged(box: string, here: Side | undefined, there: Side | undefined): Compared {
  if (!here || !there)
    return { box, here, there, points: 0, verdict: here ? "only-here" : "only-there", differs: true };
  const [ours, theirs] = [here.figures, there.figures];
  if (ours.edge === theirs.edge) {
    const differs = here.pays !== there.pays || ours.hit !== theirs.hit;
    return { box, here, there, points: 0, verdict: "same", differs };
  }
  const points = (share(theirs.edge) - share(ours.edge)) * 100;
  return { box, here, there, points, verdict: points < 0 ? "better" : "worse", differs: true };
}

/** Count the boxes of each verdict. */
export function counted(rows: readonly Compared[]): Record<Verdict, number> {
  const found: Record<Verdict, number> = { same: 0, better: 0, worse: 0, "only-here": 0, "only-there": 0 };
  for (const row of rows) found[row.verdict]++;
  return found;
}
