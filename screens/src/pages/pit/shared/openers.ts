// Who opens the tables of a game.

import type { GameView } from "../../../api/schema.d.ts";
import { has, STAFF } from "../../../lib/session.svelte.ts";

/** Return the roles that open tables of a game: those that its rulebook names, or the whole staff. */
export const openersOf = (game: GameView): readonly string[] => game.conduct.people.acts["open-table"]?.by ?? STAFF;

export const mayOpen = (game: GameView): boolean => has(...openersOf(game));
