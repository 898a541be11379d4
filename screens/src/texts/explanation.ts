// Say a line of an explanation in the user's language, from the data that the server sends: amounts in currency, and
// names instead of ids.

import type { BoxView, ExplanationLine, GameView } from "../api/schema.d.ts";
import type { Roll } from "../lib/dice.ts";
import { boxOf } from "../lib/game.ts";
import { money } from "../lib/money.ts";
import { boxName } from "./boxes.ts";
import { callOf } from "./calls.ts";
import { causeName } from "./irregularities.ts";
import { meaningOf } from "./meanings.ts";
import { oddsText } from "./paying.ts";
import { textOr } from "./texts.ts";

const AMOUNTS = new Set("amount total allowed stake left shared chip minimum plays returned winnings owing".split(" "));

/** Return the text of a line, without its clauses. */
export function explained(line: ExplanationLine, game: GameView, currency: string): string {
  const { facts } = line;
  const box = game.boxes.find(({ id }) => id === boxOf(String(facts["box"] ?? "")));
  const values = Object.fromEntries(Object.entries(facts).map(([name, fact]) => [name, valueOf(name, fact)]));
  return textOr(`player.explain.line.${line.code}`, line.code, { ...values, ...ofBox(box) });

  function valueOf(name: string, fact: unknown): string {
    if (AMOUNTS.has(name)) return money(Number(fact), currency);
    if (name === "box") return boxName(String(fact));
    if (name === "odds") return oddsText(String(fact));
    if (name === "dice") return callOf(game, fact as Roll);
    if (name === "cause") return causeName(String(fact));
    if (name === "limit") return textOr(`player.explain.limit.${String(fact)}`, String(fact));
    return String(fact);
  }
}

const ofBox = (box: BoxView | undefined): Record<string, string> => (box ? { meaning: meaningOf(box) } : {});
