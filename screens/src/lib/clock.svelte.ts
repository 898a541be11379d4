// The house's clock, as near as this screen can know it: countdowns go by it, not by ours.

/** By how many microseconds the house's clock is ahead of this machine's. */
let ahead = 0;
let known = false;

export const clock = $state({ now: Date.now() * 1000 });

/** Hear what time the house says it is; the first word counts, later ones bring it nearer. */
export function heardTime(serverTime: number): void {
  const difference = serverTime - Date.now() * 1000;
  ahead = known ? ahead + (difference - ahead) / 4 : difference;
  known = true;
  clock.now = houseTime();
}

export const houseTime = (): number => Date.now() * 1000 + ahead;

/** Keep `clock.now` going while a screen shows it; returns how to stop. */
export function tick(): () => void {
  const timer = setInterval(() => (clock.now = houseTime()), 200);
  return () => clearInterval(timer);
}
