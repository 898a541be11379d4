// Name the boxes of a game in the language of the screen; the words come from texts/boxes.

import type { BoxView } from "../api/schema.d.ts";
import { boxName as nameOf } from "../texts/boxes.ts";

export { faceName } from "../texts/boxes.ts";
export { familyName } from "../texts/paying.ts";

/** Return the common name of a box, such as "Total 9" or "Double 6". */
export const boxName = (box: Pick<BoxView, "family" | "name" | "selection">): string =>
  nameOf(box.selection.length ? `${box.family}:${box.selection.join("-")}` : box.family);
