// Spots by name: a box, and the end of the table where each end counts by itself.

import type { GameView } from "../../api/schema.d.ts";
import { boxName } from "../../felt/names.ts";
import { boxOf } from "../../lib/game.ts";
import { t } from "../../felt/texts.ts";

export function spotName(game: GameView, spot: string): string {
  const box = game.boxes.find((each) => each.id === boxOf(spot));
  const end = spot.split("@")[1];
  const name = box ? boxName(box) : spot;
  if (!end) return name;
  return `${name} (${end === "left" || end === "right" ? t(`end-${end}`) : t("end-other", { end })})`;
}
