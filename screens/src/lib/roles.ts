// Group roles, and name them in the user's language.

import { textOr } from "../texts/texts.ts";

/** The roles that decide where dealers may not; a house may inform them of variances. */
export const SUPERVISORS: readonly string[] = ["supervisor", "pit-manager", "shift-manager"];

export const roleName = (role: string): string => textOr(`common.role.${role}`, role);
export const roleNames = (roles: readonly string[]): string => roles.map(roleName).join(" · ");
