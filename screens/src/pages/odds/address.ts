// Store the choices of the page in its address, so that links preserve them. Browsers throttle address changes,
// so writes are debounced.

import { here } from "../../lib/router.svelte.ts";

const PAUSE_MS = 400;
let timer: ReturnType<typeof setTimeout> | undefined;

/** Store a choice in the address; an empty one is removed. */
export function keep(name: string, value: string): void {
  const query = new URLSearchParams(here.query);
  if (value) query.set(name, value);
  else query.delete(name);
  here.query = query.size ? `?${query}` : "";
  clearTimeout(timer);
  timer = setTimeout(() => history.replaceState(null, "", here.path + here.query), PAUSE_MS);
}
