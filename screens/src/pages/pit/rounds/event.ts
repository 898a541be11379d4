// Describe an event in one line, with its player, amount, box and dice filled in.

import type { Event, GameView } from "../../../api/schema.d.ts";
import { countsOf, faceValue } from "../../../chips/counts.ts";
import { money } from "../../../lib/money.ts";
import { boxName, faceName } from "../../../texts/boxes.ts";
import { causeName } from "../../../texts/irregularities.ts";
import { playerName } from "../shared/names.svelte.ts";
import { labelled, t, textOr } from "../../../texts/texts.ts";

// The fields of any event; the text of each type uses the fields that it has.
interface Loose {
  player?: string;
  amount?: number;
  stake?: number;
  winnings?: number;
  float_amount?: number;
  spot?: string;
  to_spot?: string;
  dice?: number[];
  known?: number[];
  bets?: [string, string, number, number?][] | "returned" | "stand";
  boxes?: string[];
  players?: string[];
  times?: number;
  key?: number;
  cause?: string;
  reason?: string;
  remedy?: string;
  note?: string;
  irregularity?: string;
  check?: string;
  step?: string;
  game?: string;
}

export function eventText(event: Event, game: GameView, currency: string, table: string): string {
  const said = event as unknown as Loose;
  const bets = Array.isArray(said.bets) ? said.bets : [];
  return textOr(`pit.event.${event.type}`, plainly(event.type, whatOf(said, game)), {
    player: playerName(said.player ?? "", table),
    amount: money(
      amountOf(event.type, said, bets),
      currency,
      event.type === "BetCorrected" || event.type === "RulingMade",
    ),
    box: boxName(said.spot ?? ""),
    to: boxName(said.to_spot ?? ""),
    dice: (said.dice ?? said.known ?? []).map((face) => faceName(game.faces[face - 1] ?? String(face))).join(" - "),
    count: said.times ?? said.key ?? said.boxes?.length ?? said.players?.length ?? bets.length,
    what: whatOf(said, game),
  });
}

/** Describe an event that has no text of its own: "NoteRecorded" with its note becomes "Note recorded: ...". */
function plainly(type: string, what: string): string {
  const words = type.replace(/(?<=.)[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return what ? `${words}: ${what}` : words;
}

function amountOf(type: string, said: Loose, bets: [string, string, number, number?][]): number {
  if (type === "LosersCollected") return bets.reduce((sum, [, , stake]) => sum + stake, 0);
  if (type === "AreaPaid" || type === "WinnersPaid") return bets.reduce((sum, [, , , won]) => sum + (won ?? 0), 0);
  if (type === "RackCounted" || type === "DropCounted") return faceValue(countsOf(said) ?? {});
  return said.amount ?? said.winnings ?? said.stake ?? said.float_amount ?? 0;
}

function whatOf(said: Loose, game: GameView): string {
  if (said.step) return textOr(`rules.step.${said.step}`, said.step);
  if (said.irregularity) return causeName(said.irregularity);
  if (said.cause) {
    const more = whatOf({ ...said, cause: "" }, game);
    return more ? labelled(causeName(said.cause), more) : causeName(said.cause);
  }
  if (said.remedy === "substitute-procedure") return t("pit.event.substitute-procedure", { reason: said.reason ?? "" });
  if (said.check) return game.conduct.opening?.[said.check]?.what || said.check;
  return said.reason ?? said.note ?? said.game ?? "";
}
