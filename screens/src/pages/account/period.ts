// Resolve the period of a statement in the house's time zone: days are gaming days. Timestamps are microseconds of UTC.

import { gamingDay, moment } from "../../lib/zone.ts";

export const PERIODS = ["today", "week", "month", "all", "dates"] as const;
export type Period = (typeof PERIODS)[number];

export interface HouseDay {
  zone: string;
  /** The time of day at which a gaming day starts, such as "06:00". */
  starts: string;
}

/** The bounds of a period; one that is missing is open. */
export interface Span {
  since?: number;
  until?: number;
}

const DAY = 24 * 3_600_000_000;
const DAYS = { today: 1, week: 7, month: 30 } as const;

/** Return the bounds of a period up to now; that of `dates` includes both days, of which either may be empty. */
export function spanOf(period: Period, now: number, { zone, starts }: HouseDay, from = "", to = ""): Span {
  if (period === "all") return {};
  if (period !== "dates") {
    // Counted from the middle of a day: a change of the clock makes a day an hour longer or shorter.
    const middle = gamingDay(now, zone, starts) + DAY / 2;
    return { since: gamingDay(middle - (DAYS[period] - 1) * DAY, zone, starts) };
  }
  const since = moment(`${from}T${starts}`, zone);
  const last = moment(`${to}T${starts}`, zone);
  return {
    ...(since === null ? {} : { since }),
    ...(last === null ? {} : { until: gamingDay(last + 1.5 * DAY, zone, starts) }),
  };
}
