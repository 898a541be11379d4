// Compute with exact fractions in the server's notation, such as "37/36". Money is added up exactly and rounded
// once.

export interface Fraction {
  readonly n: bigint;
  readonly d: bigint;
}

export const NOTHING: Fraction = { n: 0n, d: 1n };

/** Parse "37/36" or "5". */
export function fraction(text: string): Fraction {
  const [n, d] = text.split("/");
  return { n: BigInt(n!), d: BigInt(d ?? "1") };
}

export function plus(a: Fraction, b: Fraction): Fraction {
  return reduced(a.n * b.d + b.n * a.d, a.d * b.d);
}

function reduced(n: bigint, d: bigint): Fraction {
  let [a, b] = [n < 0n ? -n : n, d];
  while (b) [a, b] = [b, a % b];
  return a > 1n ? { n: n / a, d: d / a } : { n, d };
}

/** Round to the nearest whole number, halves away from zero. */
export function rounded({ n, d }: Fraction): number {
  const twice = 2n * (n < 0n ? -n : n);
  const whole = (twice + d) / (2n * d);
  return Number(n < 0n ? -whole : whole);
}

/** Convert to a float, for display and square roots. */
export function approximate({ n, d }: Fraction): number {
  return Number((n * 1_000_000n) / d) / 1_000_000;
}
