// Names of roles.

import { textOr } from "../../../texts/texts.ts";

export const roleName = (role: string): string => textOr(`pit.role.${role}`, role);
