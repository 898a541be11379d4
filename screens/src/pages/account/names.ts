// Names of roles and of movements on an account.

import { roleName } from "../../lib/roles.ts";
import { textOr } from "../../texts/texts.ts";

/** The name of a role at the beginning of a line. */
export function roleTitle(role: string): string {
  const name = roleName(role);
  return name.charAt(0).toUpperCase() + name.slice(1);
}

/** What people in a role do; nothing for a role that is not known here. */
export const roleDuties = (role: string): string => textOr(`account.role-does.${role}`, "");

export const movementName = (what: string): string => textOr(`account.movement.${what}`, what);
