// Name the boxes and families that limits apply to.

import { boxName } from "../../../texts/boxes.ts";
import { textOr } from "../../../texts/texts.ts";

export const familyName = (family: string): string => textOr(`box.families.${family}`, boxName(family));

export const limitName = (what: string): string => (what.includes(":") ? boxName(what) : familyName(what));
