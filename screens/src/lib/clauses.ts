// Give the notes within a page the texts of the rulebook's clauses, so that a refusal can show them.

import { getContext, setContext } from "svelte";
import type { GameView } from "../api/schema.d.ts";

export type ClauseTexts = Readonly<Record<string, { readonly summary: string }>>;

const KEY = Symbol("clauses");

/** Set the game whose clauses the components within cite; call it while a component is initialised. */
export const provideClauses = (game: () => GameView | null | undefined): void =>
  void setContext(KEY, () => game()?.clauses ?? {});

/** Return the texts of the clauses that are cited here; none outside a table's pages. */
export const clauseTexts = (): (() => ClauseTexts) =>
  (getContext(KEY) as (() => ClauseTexts) | undefined) ?? (() => ({}));

/** Return clause numbers as a list; the rulebook has one, or several. */
export const clauseNumbers = (clause: string | readonly string[] | undefined): readonly string[] =>
  clause === undefined ? [] : typeof clause === "string" ? [clause] : clause;
