// A QR code of a text, as ISO/IEC 18004 has it: bytes, correction level M, versions 1 to 10. Enough
// for what a telephone reads at a sign-in, and nothing is loaded from elsewhere.

/** By version: correction codewords a block, then the data codewords of each block. */
const BLOCKS: readonly (readonly [number, readonly number[]])[] = [
  [10, [16]],
  [16, [28]],
  [26, [44]],
  [18, [32, 32]],
  [24, [43, 43]],
  [16, [27, 27, 27, 27]],
  [18, [31, 31, 31, 31]],
  [22, [38, 38, 39, 39]],
  [22, [36, 36, 36, 37, 37]],
  [26, [43, 43, 43, 43, 44]],
];
const LONG_COUNT_FROM = 10;
const VERSION_INFO_FROM = 7;

const MASKS: readonly ((x: number, y: number) => boolean)[] = [
  (x, y) => (x + y) % 2 === 0,
  (_, y) => y % 2 === 0,
  (x) => x % 3 === 0,
  (x, y) => (x + y) % 3 === 0,
  (x, y) => (Math.floor(x / 3) + Math.floor(y / 2)) % 2 === 0,
  (x, y) => ((x * y) % 2) + ((x * y) % 3) === 0,
  (x, y) => (((x * y) % 2) + ((x * y) % 3)) % 2 === 0,
  (x, y) => (((x + y) % 2) + ((x * y) % 3)) % 2 === 0,
];

/** The modules of a code, row by row, dark ones true; null where a text is too long. */
export function qr(text: string): boolean[][] | null {
  const bytes = [...new TextEncoder().encode(text)];
  const version = BLOCKS.findIndex((_, at) => bytes.length <= room(at + 1)) + 1;
  if (!version) return null;
  const codewords = interleaved(version, data(version, bytes));
  const candidates = MASKS.map((_, mask) => drawn(version, codewords, mask));
  return candidates.reduce((best, each) => (penalty(each) < penalty(best) ? each : best));
}

const capacity = (version: number): number => BLOCKS[version - 1]![1].reduce((sum, each) => sum + each, 0);
const room = (version: number): number => capacity(version) - (version >= LONG_COUNT_FROM ? 3 : 2);

/** The text as codewords: mode, length, bytes, an end, and padding. */
function data(version: number, bytes: readonly number[]): number[] {
  const bits: number[] = [];
  const put = (value: number, length: number) => {
    for (let at = length - 1; at >= 0; at--) bits.push((value >> at) & 1);
  };
  put(0b0100, 4);
  put(bytes.length, version >= LONG_COUNT_FROM ? 16 : 8);
  for (const byte of bytes) put(byte, 8);
  put(0, Math.min(4, capacity(version) * 8 - bits.length));
  while (bits.length % 8) bits.push(0);
  const words = Array.from({ length: bits.length / 8 }, (_, at) => parseInt(bits.slice(at * 8, at * 8 + 8).join(""), 2));
  for (let at = 0; words.length < capacity(version); at++) words.push(at % 2 ? 0x11 : 0xec);
  return words;
}

/** Blocks with their correction, a codeword of each in turn. */
function interleaved(version: number, words: readonly number[]): number[] {
  const [length, sizes] = BLOCKS[version - 1]!;
  let from = 0;
  const blocks = sizes.map((size) => words.slice(from, (from += size)));
  const checks = blocks.map((block) => remainder(block, length));
  const turns = (lists: readonly number[][]) =>
    Array.from({ length: Math.max(...lists.map((each) => each.length)) }, (_, at) =>
      lists.flatMap((each) => (at < each.length ? [each[at]!] : [])),
    ).flat();
  return [...turns(blocks), ...turns(checks)];
}

/** Multiply in the field of 256 elements with 0x11d. */
function times(a: number, b: number): number {
  let product = 0;
  for (let bit = 7; bit >= 0; bit--) {
    product = (product << 1) ^ (product >> 7 ? 0x11d : 0);
    if ((b >> bit) & 1) product ^= a;
  }
  return product;
}

/** Reed and Solomon's check of a block: what is left when it is divided by (x-1)(x-2)(x-4)… */
function remainder(block: readonly number[], length: number): number[] {
  let divisor = [1];
  for (let at = 0, root = 1; at < length; at++, root = times(root, 2))
    divisor = [...divisor, 0].map((each, i) => each ^ (i ? times(divisor[i - 1]!, root) : 0));
  const left = [...block, ...Array.from({ length }, () => 0)];
  for (let at = 0; at < block.length; at++) {
    const factor = left[at]!;
    divisor.forEach((each, i) => (left[at + i]! ^= times(each, factor)));
  }
  return left.slice(block.length);
}

function drawn(version: number, codewords: readonly number[], mask: number): boolean[][] {
  const size = 17 + 4 * version;
  const dark: boolean[][] = Array.from({ length: size }, () => Array.from({ length: size }, () => false));
  const fixed: boolean[][] = dark.map((row) => row.map(() => false));
  const set = (x: number, y: number, is: boolean) => {
    if (x < 0 || y < 0 || x >= size || y >= size) return;
    dark[y]![x] = is;
    fixed[y]![x] = true;
  };
  const square = (cx: number, cy: number, reach: number, isDark: (ring: number) => boolean) => {
    for (let dy = -reach; dy <= reach; dy++)
      for (let dx = -reach; dx <= reach; dx++) set(cx + dx, cy + dy, isDark(Math.max(Math.abs(dx), Math.abs(dy))));
  };
  for (let at = 0; at < size; at++) {
    set(6, at, at % 2 === 0);
    set(at, 6, at % 2 === 0);
  }
  const ends = alignments(version);
  for (const x of ends)
    for (const y of ends) if (!isCorner(x, y, size)) square(x, y, 2, (ring) => ring !== 1);
  for (const [x, y] of [[3, 3], [size - 4, 3], [3, size - 4]] as const)
    square(x, y, 4, (ring) => ring !== 2 && ring !== 4);
  format(mask, size, set);
  if (version >= VERSION_INFO_FROM) versionInfo(version, size, set);
  fill(dark, fixed, codewords, MASKS[mask]!);
  return dark;
}

function alignments(version: number): number[] {
  if (version === 1) return [];
  const last = 10 + 4 * version;
  return version < VERSION_INFO_FROM ? [6, last] : [6, (6 + last) / 2, last];
}

const isCorner = (x: number, y: number, size: number): boolean =>
  (x === 6 && y === 6) || (x === 6 && y > size - 10) || (y === 6 && x > size - 10);

type Put = (x: number, y: number, dark: boolean) => void;

/** What is left of a number, moved up by the divisor's degree, when it is divided without carry. */
function carryless(value: number, divisor: number, degree: number): number {
  let left = value << degree;
  for (let bit = 31 - Math.clz32(left); bit >= degree; bit = 31 - Math.clz32(left)) left ^= divisor << (bit - degree);
  return left;
}

/** Correction level M is written as 0; both copies lie around the large squares. */
function format(mask: number, size: number, set: Put): void {
  const bits = ((mask << 10) | carryless(mask, 0x537, 10)) ^ 0x5412;
  for (let at = 0; at < 15; at++) {
    const is = ((bits >> at) & 1) === 1;
    if (at < 8) set(8, at < 6 ? at : at + 1, is);
    else set(at === 8 ? 7 : 14 - at, 8, is);
    if (at < 8) set(size - 1 - at, 8, is);
    else set(8, size - 15 + at, is);
  }
  set(8, size - 8, true);
}

function versionInfo(version: number, size: number, set: Put): void {
  const bits = (version << 12) | carryless(version, 0x1f25, 12);
  for (let at = 0; at < 18; at++) {
    const [a, b, is] = [size - 11 + (at % 3), Math.floor(at / 3), ((bits >> at) & 1) === 1];
    set(a, b, is);
    set(b, a, is);
  }
}

/** Up and down in columns of two from the right, around everything fixed. */
function fill(dark: boolean[][], fixed: readonly boolean[][], words: readonly number[], flips: (x: number, y: number) => boolean): void {
  const size = dark.length;
  let at = 0;
  let up = true;
  for (let right = size - 1; right > 0; right -= right === 8 ? 3 : 2, up = !up)
    for (let step = 0; step < size; step++)
      for (const x of [right, right - 1]) {
        const y = up ? size - 1 - step : step;
        if (fixed[y]![x]) continue;
        const bit = at < words.length * 8 && ((words[at >> 3]! >> (7 - (at & 7))) & 1) === 1;
        dark[y]![x] = bit !== flips(x, y);
        at++;
      }
}

/** How hard a code is to read: long runs, blocks, what looks like a corner, too dark or too light. */
function penalty(dark: readonly boolean[][]): number {
  const size = dark.length;
  const rows = dark.map((row) => row.map((each) => (each ? "1" : "0")).join(""));
  const columns = rows.map((_, x) => rows.map((row) => row[x]).join(""));
  let sum = 0;
  for (const line of [...rows, ...columns]) {
    for (const run of line.match(/0{5,}|1{5,}/g) ?? []) sum += run.length - 2;
    for (const corner of ["10111010000", "00001011101"])
      for (let at = line.indexOf(corner); at >= 0; at = line.indexOf(corner, at + 1)) sum += 40;
  }
  for (let y = 1; y < size; y++)
    for (let x = 1; x < size; x++)
      if (new Set([dark[y]![x], dark[y - 1]![x], dark[y]![x - 1], dark[y - 1]![x - 1]]).size === 1) sum += 3;
  const share = rows.join("").replaceAll("0", "").length / size ** 2;
  return sum + 10 * Math.floor(Math.abs(share - 0.5) * 20);
}
