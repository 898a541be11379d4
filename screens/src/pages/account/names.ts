// Name roles and account movements in the user's language.

import { roleName } from "../../lib/roles.ts";
import { capitalised, textOr } from "../../texts/texts.ts";

/** Return the name of a role, capitalised for the beginning of a line. */
export const roleTitle = (role: string): string => capitalised(roleName(role));

/** Describe the duties of a role; empty for an unknown role. */
export const roleDuties = (role: string): string => textOr(`account.role-does.${role}`, "");

export const movementName = (what: string): string => textOr(`account.movement.${what}`, what);
