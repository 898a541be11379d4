// Define the pips of die faces on a 32 by 32 square.

export const PIPS: Record<number, readonly (readonly [number, number])[]> = {
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
