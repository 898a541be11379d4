// Describe the limits of a table as its rulebook has them displayed: in general, then by family or box where they
// differ, then the differentials.

import type { BoxView, GameView, TableLimits } from "../api/schema.d.ts";
import { short } from "../lib/money.ts";
import { boxName } from "./boxes.ts";
import { familyName } from "./paying.ts";
import { listed, t } from "./texts.ts";

type Game = Pick<GameView, "boxes"> & { conduct: Pick<GameView["conduct"], "limits"> };

/** Return the lines to display; none if the rulebook does not have limits displayed. */
export function displayedLimits(game: Game, limits: TableLimits | null | undefined, currency: string): string[] {
  if (!limits) return [];
  const [general, ...others] = [...boxesByRange(game, limits, currency)].sort((a, b) => b[1].length - a[1].length);
  const lines = general && general[0] ? [t("limits.general", { range: general[0], currency })] : [];
  for (const [range, boxes] of others) lines.push(t("limits.only", { boxes: names(game, boxes), range }));
  return [...lines, ...differentials(game, limits, currency)];
}

/** Group the boxes of a layout by their displayed range, in the order of the layout. */
function boxesByRange(game: Game, limits: TableLimits, currency: string): Map<string, BoxView[]> {
  const { displayed } = game.conduct.limits;
  const found = new Map<string, BoxView[]>();
  for (const box of game.boxes) {
    const stakes = limits.boxes?.[box.id] ?? limits.families[box.family];
    if (!stakes) continue;
    const minimum = displayed.includes("minimum") ? short(stakes.minimum, currency) : "";
    const maximum = displayed.includes("maximum") ? short(stakes.maximum, currency) : "";
    const range = minimum && maximum ? t("limits.range", { minimum, maximum }) : minimum || maximum;
    found.set(range, [...(found.get(range) ?? []), box]);
  }
  return found;
}

/** Name boxes by their family where all its boxes are among them. */
function names(game: Game, boxes: readonly BoxView[]): string {
  const whole = (family: string) => game.boxes.every((each) => each.family !== family || boxes.includes(each));
  const all = boxes.map((box) => (whole(box.family) ? familyName(box) : boxName(box.id)));
  return listed([...new Set(all)]);
}

function differentials(game: Game, limits: TableLimits, currency: string): string[] {
  const { displayed, differential } = game.conduct.limits;
  if (!displayed.includes("differential")) return [];
  return (differential?.pairs ?? []).flatMap(([a, b]) => {
    const most = limits.differential?.[a];
    return most ? [t("limits.differential", { a: boxName(a), b: boxName(b), amount: short(most, currency) })] : [];
  });
}
