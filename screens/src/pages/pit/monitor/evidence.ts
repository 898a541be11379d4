// Scale and format the evidence against fair dice, which the server gives as a power of ten.

import type { EvidencePointView } from "../../../api/schema.d.ts";
import { number } from "../../../lib/numbers.ts";

/** Format evidence: a number with three digits, or a power of ten where that is long. */
export function evidenceText(log10: number): string {
  if (log10 < -3 || log10 >= 6) return `10^${log10.toFixed(1)}`;
  const evidence = 10 ** log10;
  return evidence >= 1000 ? number(evidence) : String(Number(evidence.toPrecision(3)));
}

/** Where the chart begins and ends, in powers of ten: whole ones, around 1 and the highest level. */
export function evidenceRange(points: readonly EvidencePointView[]): { low: number; high: number } {
  const logs = points.map((each) => each.log10_evidence);
  return { low: Math.floor(Math.min(-1, ...logs)), high: Math.ceil(Math.max(3.5, ...logs)) };
}

/** Return about so many whole powers of ten in a range, with 1 among them. */
export function powersOfTen({ low, high }: { low: number; high: number }, most = 8): number[] {
  const step = Math.max(1, Math.ceil((high - low) / most));
  const first = Math.ceil(low / step) * step;
  return Array.from({ length: Math.floor((high - first) / step) + 1 }, (_, index) => first + index * step + 0);
}
