// Add up the void rounds of several tables by the person who voided them.

import type { VoidCount } from "../../../api/schema.d.ts";

/** The void rounds of one person; approvers and causes with their numbers, the most frequent first. */
export interface PersonVoids {
  by: string;
  name: string;
  count: number;
  alone: number;
  approvers: [string, number][];
  causes: [string, number][];
}

/** Return the void rounds of each person, the most frequent first. */
export function voidsByPerson(counts: readonly VoidCount[]): PersonVoids[] {
  const people = [...new Set(counts.map(({ by }) => by))].map((by) => {
    const own = counts.filter((each) => each.by === by);
    return {
      by,
      name: own[0]!.name || by,
      count: total(own),
      alone: total(own.filter((each) => !each.approved_by)),
      approvers: totals(
        own.filter((each) => each.approved_by),
        (each) => each.approver || each.approved_by,
      ),
      causes: totals(own, (each) => each.cause),
    };
  });
  return people.sort((a, b) => b.count - a.count);
}

const total = (counts: readonly VoidCount[]): number => counts.reduce((sum, { count }) => sum + count, 0);

function totals(counts: readonly VoidCount[], keyOf: (each: VoidCount) => string): [string, number][] {
  const found = new Map<string, number>();
  for (const each of counts) found.set(keyOf(each), (found.get(keyOf(each)) ?? 0) + each.count);
  return [...found].sort(([, a], [, b]) => b - a);
}
