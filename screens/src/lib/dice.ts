// Define rolls: three faces from 1 to 6, indexed from 1-1-1 to 6-6-6 among the 216.

export type Roll = readonly [number, number, number];

export const rollIndex = ([a, b, c]: Roll): number => (a - 1) * 36 + (b - 1) * 6 + (c - 1);

export const ROLLS: readonly Roll[] = Array.from({ length: 216 }, (_, i) => [
  Math.floor(i / 36) + 1,
  (Math.floor(i / 6) % 6) + 1,
  (i % 6) + 1,
]);

export const total = (roll: Roll): number => roll[0] + roll[1] + roll[2];
export const isTriple = ([a, b, c]: Roll): boolean => a === b && b === c;
