// What is chosen on the page stands in its address, so that it can be sent to somebody. Browsers
// are slow to change an address, so it is written once the choosing has paused.

import { here } from "../../lib/router.svelte.ts";

const PAUSE_MS = 400;
let timer: ReturnType<typeof setTimeout> | undefined;

/** Keep a choice in the address; an empty one is taken out. */
export function keep(name: string, value: string): void {
  const query = new URLSearchParams(here.query);
  if (value) query.set(name, value);
  else query.delete(name);
  here.query = query.size ? `?${query}` : "";
  clearTimeout(timer);
  timer = setTimeout(() => history.replaceState(null, "", here.path + here.query), PAUSE_MS);
}
