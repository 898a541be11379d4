// Convert times of the house's time zone, whatever the zone of the device. Timestamps are microseconds of UTC.

const MINUTE = 60_000_000;

/** Format a timestamp as the local time of a zone for a date-time input: 2025-01-31T08:05. */
export function wall(at: number, zone: string): string {
  const parts = new Intl.DateTimeFormat("en-CA", {
    timeZone: zone,
    hourCycle: "h23",
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
  }).formatToParts(at / 1000);
  const part = (type: string) => parts.find((each) => each.type === type)?.value ?? "00";
  return `${part("year")}-${part("month")}-${part("day")}T${part("hour")}:${part("minute")}`;
}

/** Parse a local time of a zone into a timestamp; null for an empty text. */
export function moment(shown: string, zone: string): number | null {
  const asUtc = Date.parse(`${shown}Z`) * 1000;
  if (Number.isNaN(asUtc)) return null;
  let at = asUtc;
  for (let turn = 0; turn < 2; turn++) at += asUtc - Date.parse(`${wall(at, zone)}Z`) * 1000;
  return at;
}

/** Return the start of the gaming day that contains a timestamp; `starts` is a time of day such as "06:00". */
export function gamingDay(at: number, zone: string, starts: string): number {
  const today = moment(`${wall(at, zone).slice(0, 10)}T${starts}`, zone)!;
  if (today <= at) return today;
  return moment(`${wall(today - 24 * 60 * MINUTE, zone).slice(0, 10)}T${starts}`, zone)!;
}
