// Estimate the server's clock, so that countdowns do not depend on the clock of this device.

const KEPT = 30;
/** The last offsets of the server's clock against this device's, in microseconds. */
const heard: number[] = [];
let ahead = 0;

export const clock = $state({ now: Date.now() * 1000 });

/** Record a timestamp of the server. Network delay only lowers an offset, so the largest is the most accurate. */
export function heardTime(serverTime: number): void {
  heard.push(serverTime - Date.now() * 1000);
  if (heard.length > KEPT) heard.shift();
  ahead = Math.max(...heard);
  look();
}

/** Update the clock now, for a countdown that has just begun. */
export function look(): void {
  clock.now = houseTime();
}

export const houseTime = (): number => Date.now() * 1000 + ahead;

/** Update `clock.now` periodically; return a function that stops it. */
export function tick(): () => void {
  const timer = setInterval(look, 200);
  return () => clearInterval(timer);
}
