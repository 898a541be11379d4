// Names of roles and colours.

import { textOr } from "../../texts/texts.ts";

export const roleName = (role: string): string => textOr(`dealer.role.${role}`, role);
export const roleNames = (roles: readonly string[]): string => roles.map(roleName).join(" · ");

export const colourName = (colour: string): string => textOr(`dealer.colour.${colour}`, colour);
