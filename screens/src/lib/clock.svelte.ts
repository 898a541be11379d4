// The house's clock, as near as this screen can know it: countdowns go by it, not by ours.

const KEPT = 30;
/** By how many microseconds the house's clock was ahead of this machine's, as it was last heard. */
const heard: number[] = [];
let ahead = 0;

export const clock = $state({ now: Date.now() * 1000 });

/** Hear what time the house says it is. A word that was long on its way says too little: the most counts. */
export function heardTime(serverTime: number): void {
  heard.push(serverTime - Date.now() * 1000);
  if (heard.length > KEPT) heard.shift();
  ahead = Math.max(...heard);
  look();
}

/** Look at the clock anew: what is counted down has just begun. */
export function look(): void {
  clock.now = houseTime();
}

export const houseTime = (): number => Date.now() * 1000 + ahead;

/** Keep `clock.now` going while a screen shows it; returns how to stop. */
export function tick(): () => void {
  const timer = setInterval(look, 200);
  return () => clearInterval(timer);
}
