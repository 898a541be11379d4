// Name roles and account movements in the user's language.

import { roleName } from "../../lib/roles.ts";
import { textOr } from "../../texts/texts.ts";

/** Return the name of a role, capitalised for the beginning of a line. */
export function roleTitle(role: string): string {
  const name = roleName(role);
  return name.charAt(0).toUpperCase() + name.slice(1);
}

/** Describe the duties of a role; empty for an unknown role. */
export const roleDuties = (role: string): string => textOr(`account.role-does.${role}`, "");

export const movementName = (what: string): string => textOr(`account.movement.${what}`, what);
