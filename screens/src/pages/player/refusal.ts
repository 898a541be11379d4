// Format refusals: write amounts in currency, remove the trailing clauses, which are shown separately, and
// suggest what is possible instead.

const AMOUNTS = new Set([
  "amount",
  "room",
  "maximum",
  "minimum",
  "total",
  "stack",
  "step",
  "chip",
  "owing",
  "staked",
  "short",
  "float",
]);

export interface Refused {
  readonly message: string;
  readonly clause: readonly string[];
  readonly facts: Readonly<Record<string, unknown>>;
}

/** Return the message of a refusal with every amount in it written by `format`. */
export function worded({ message, clause, facts }: Refused, format: (amount: number) => string): string {
  const ending = ` (${clause.join(", ")})`;
  const words = clause.length && message.endsWith(ending) ? message.slice(0, -ending.length) : message;
  const amounts = new Map(
    Object.entries(facts)
      .filter(([name, value]) => AMOUNTS.has(name) && typeof value === "number")
      .map(([, value]) => [String(value), value as number]),
  );
  return words.replace(/(?<![\d.])\d+(?![\d.]|\s*%)/g, (digits) => {
    const amount = amounts.get(digits);
    return amount === undefined ? digits : format(amount);
  });
}

/** Return what is possible according to the facts of a refusal: a text key and an amount. */
export function possible({
  facts,
}: Refused): { key: "fits" | "fits-nothing" | "at-least" | "in-steps"; amount: number } | null {
  const fact = (name: string) => (typeof facts[name] === "number" ? (facts[name] as number) : null);
  const room = fact("room");
  if (room !== null) return { key: room > 0 ? "fits" : "fits-nothing", amount: room };
  const minimum = fact("minimum");
  if (minimum !== null) return { key: "at-least", amount: minimum };
  const step = fact("step") ?? fact("chip");
  return step === null ? null : { key: "in-steps", amount: step };
}
