// Manage favourites: named sets of chips, stored by the browser for each game.

import { isRecord, isText } from "../../lib/storage.ts";
import { isSet } from "./slip.ts";
import type { Lying } from "./slip.ts";

export interface Favourite {
  readonly name: string;
  readonly set: Lying;
}

export type Favourites = readonly Favourite[];

/** The most favourites of a game; a longer list could not be searched by eye. */
export const MOST = 40;
export const LONGEST_NAME = 40;

/** Return why a name is not valid, or null. */
export function nameFault(all: Favourites, name: string, renamed?: string): "empty" | "taken" | "full" | null {
  const wanted = tidied(name);
  if (!wanted) return "empty";
  if (wanted !== renamed && all.some((each) => each.name === wanted)) return "taken";
  return renamed === undefined && all.length >= MOST ? "full" : null;
}

export const added = (all: Favourites, name: string, set: Lying): Favourites =>
  nameFault(all, name) ? all : [...all, { name: tidied(name), set: { ...set } }];

export const renamed = (all: Favourites, from: string, to: string): Favourites =>
  nameFault(all, to, from) ? all : all.map((each) => (each.name === from ? { ...each, name: tidied(to) } : each));

export const without = (all: Favourites, name: string): Favourites => all.filter((each) => each.name !== name);

export function isFavourite(value: unknown): value is Favourite {
  return isRecord(value) && isText(value["name"]) && value["name"] !== "" && isSet(value["set"]);
}

const tidied = (name: string): string => name.trim().replace(/\s+/g, " ").slice(0, LONGEST_NAME);
