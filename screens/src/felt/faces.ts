// Define the pips of die faces on a 32 by 32 square.

const PIPS: Record<number, readonly (readonly [number, number])[]> = {
  1: [[16, 16]],
  2: [
    [9, 9],
    [23, 23],
  ],
  3: [
    [8, 8],
    [16, 16],
    [24, 24],
  ],
  4: [
    [9, 9],
    [23, 9],
    [9, 23],
    [23, 23],
  ],
  5: [
    [9, 9],
    [23, 9],
    [16, 16],
    [9, 23],
    [23, 23],
  ],
  6: [
    [9, 8],
    [9, 16],
    [9, 24],
    [23, 8],
    [23, 16],
    [23, 24],
  ],
};

/** Return the path of a face's pips on a die at a place, whose square has 32 units; empty if the face is unknown. */
export function pipsPath(face: number, x: number, y: number, unit: number): string {
  const r = unit * (face === 1 ? 5 : 3.1);
  const half = `a${r} ${r} 0 1 0`;
  return (PIPS[face] ?? [])
    .map(([cx, cy]) => `M${x + cx * unit - r} ${y + cy * unit}${half} ${2 * r} 0${half} ${-2 * r} 0z`)
    .join("");
}
