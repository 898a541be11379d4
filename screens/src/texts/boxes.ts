// Name boxes and faces for lists and labels, where the wording of the felt is too long.

import { t, textOr } from "./texts.ts";

/** Return the name of a face: its number, or the name of its symbol. */
export const faceName = (face: string): string => textOr(`box.face.${face}`, face);

/** Return the short name of a box or a spot: `total:9` is "Total 9", `big@left` is "Big (left)". */
export function boxName(spot: string): string {
  const [box = "", end] = spot.split("@");
  const [family = "", selection] = box.split(":");
  const faces =
    selection
      ?.split("-")
      .map(faceName)
      .join(selection.match(/[a-z]/) ? " " : "-") ?? "";
  const name = textOr(`box.family.${family}`, box, { faces });
  return end ? t("box.at-end", { name, end: textOr(`box.end.${end}`, end) }) : name;
}
