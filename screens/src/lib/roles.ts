// Name roles in the user's language.

import { textOr } from "../texts/texts.ts";

export const roleName = (role: string): string => textOr(`common.role.${role}`, role);
export const roleNames = (roles: readonly string[]): string => roles.map(roleName).join(" · ");
