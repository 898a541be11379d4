// Names of roles and of movements on an account.

import { textOr } from "../../texts/texts.ts";

export const roleName = (role: string): string => textOr(`account.role.${role}`, role);

/** What people in a role do; nothing for a role that is not known here. */
export const roleDuties = (role: string): string => textOr(`account.role-does.${role}`, "");

export const movementName = (what: string): string => textOr(`account.movement.${what}`, what);
