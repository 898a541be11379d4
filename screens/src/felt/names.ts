// What a box of a game is called in the language of the screen; the words are those of texts/boxes.

import type { BoxView } from "../api/schema.d.ts";
import { boxName as nameOf } from "../texts/boxes.ts";

export { faceName } from "../texts/boxes.ts";
export { familyName } from "../texts/paying.ts";

/** "Total 9", "Double 6": what people call a box. */
export const boxName = (box: Pick<BoxView, "family" | "name" | "selection">): string =>
  nameOf(box.selection.length ? `${box.family}:${box.selection.join("-")}` : box.family);
