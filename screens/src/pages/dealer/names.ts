// Name colours in the user's language.

import { textOr } from "../../texts/texts.ts";

export const colourName = (colour: string): string => textOr(`dealer.colour.${colour}`, colour);
