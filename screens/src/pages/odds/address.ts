// Keep the choices of the page in its address, so that a link shares them and a reload preserves them. Browsers
// throttle address changes, so writes are debounced.

import { here } from "../../lib/router.svelte.ts";

const PAUSE_MS = 400;
let timer: ReturnType<typeof setTimeout> | undefined;

/** Return a choice in the address; empty if there is none. */
export const kept = (name: string): string => new URLSearchParams(here.query).get(name) ?? "";

/** Return the query of the address with a choice changed; an empty one is removed. */
export function queryWith(name: string, value: string): string {
  const query = new URLSearchParams(here.query);
  if (value) query.set(name, value);
  else query.delete(name);
  // A query may contain these signs, and people read and type mixes.
  const text = query.toString().replace(/%(?:2C|3A|40|2F)/g, decodeURIComponent);
  return text && `?${text}`;
}

/** Store a choice in the address. */
export function keep(name: string, value: string): void {
  here.query = queryWith(name, value);
  clearTimeout(timer);
  timer = setTimeout(() => history.replaceState(null, "", here.path + here.query), PAUSE_MS);
}
