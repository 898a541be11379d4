// Format refusals as a sentence: write amounts in currency, name players, roles, boxes, equipment, irregularities and
// steps, and remove the trailing clauses, which are shown separately.

import { boxName } from "../texts/boxes.ts";
import { causeName } from "../texts/irregularities.ts";
import { language } from "../texts/language.svelte.ts";
import { textOr } from "../texts/texts.ts";
import { kindName } from "./equipment.ts";
import { roleName } from "./roles.ts";

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
  "free",
  "staked",
  "short",
  "float",
]);

export interface Refused {
  readonly message: string;
  readonly clause: readonly string[];
  readonly facts: Readonly<Record<string, unknown>>;
}

/** Return the sentence of a refusal with every amount in it written by `format`, and names instead of ids. */
export function worded(
  { message, clause, facts }: Refused,
  format: (amount: number) => string,
  playerName: (player: string) => string = (player) => player,
): string {
  const ending = ` (${clause.join(", ")})`;
  const words = clause.length && message.endsWith(ending) ? message.slice(0, -ending.length) : message;
  const amounts = new Map(
    Object.entries(facts)
      .filter(([name, value]) => AMOUNTS.has(name) && typeof value === "number")
      .map(([, value]) => [String(value), value as number]),
  );
  const names = namesIn(facts, playerName);
  const text = words.replace(pattern([...names.keys()]), (said) => {
    const name = names.get(said.toLowerCase());
    if (name !== undefined) return said[0] === said[0]!.toLowerCase() ? name : name[0]!.toUpperCase() + name.slice(1);
    const amount = amounts.get(said);
    return amount === undefined ? said : format(amount);
  });
  return sentence(text);
}

/** Return a text as a sentence: with a capital letter and a full stop. */
function sentence(text: string): string {
  const stop = language.now === "en" ? "." : "。";
  return text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?。！？…]$/.test(text) ? "" : stop);
}

/** How to name the ids in the facts other than players, by the names of the facts. */
const NAMERS: Readonly<Record<string, (id: string) => string>> = {
  role: roleName,
  allowed: roleName,
  irregularity: causeName,
  cause: causeName,
  causes: causeName,
  step: (id) => textOr(`dealer.step.${id}`, id),
  after: (id) => textOr(`dealer.step.${id}`, id),
  unit: (id) => textOr(`common.unit.${id}`, id),
  box: boxName,
  nearest: (id) => textOr(`game.title.${id}`, id),
  kind: (id) => textOr(`common.subject.${id}`, kindName(id)),
  kinds: kindName,
  check: (id) => textOr(`dealer.checks.check.${id}`, id),
  checks: (id) => textOr(`dealer.checks.check.${id}`, id),
};

/** Return the names of the ids in the facts, by the ids in lower case; a fact may list several ids. */
function namesIn(facts: Refused["facts"], playerName: (player: string) => string): ReadonlyMap<string, string> {
  const texts = Object.entries(facts).filter(
    (fact): fact is [string, string] => !!fact[1] && typeof fact[1] === "string",
  );
  return new Map([
    ...texts.flatMap(([key, value]) => {
      const named = NAMERS[key];
      return named ? value.split(", ").map((id) => [id.toLowerCase(), named(id)] as const) : [];
    }),
    ...texts
      .filter(([key]) => key === "player" || key === "other")
      .map(([, id]) => [id.toLowerCase(), playerName(id)] as const),
  ]);
}

/** Return a pattern of these ids as whole words, and of whole numbers that are no percentages. */
function pattern(ids: readonly string[]): RegExp {
  const escaped = ids.map((id) => id.replace(/[^\w\s]/gu, "\\$&")).sort((a, b) => b.length - a.length);
  const words = escaped.length ? `(?<![\\w-])(?:${escaped.join("|")})(?![\\w-])|` : "";
  return new RegExp(`${words}(?<![\\d.])\\d+(?![\\d.]|\\s*%)`, "gi");
}
