// Describe a request for the second person who decides on it.

import type { GameView, RequestView } from "../../api/schema.d.ts";
import type { Roll } from "../../lib/dice.ts";
import { countsOf, countsText, faceValue } from "../../chips/counts.ts";
import { money } from "../../lib/money.ts";
import { boxName, faceName } from "../../texts/boxes.ts";
import { callOf } from "../../texts/calls.ts";
import { t, textOr } from "../../texts/texts.ts";
import { causeName } from "../../texts/irregularities.ts";

export function requested(
  request: RequestView,
  game: GameView,
  currency: string,
  playerName: (player: string) => string,
): string {
  const said = request.command as Record<string, unknown>;
  switch (said["type"]) {
    case "AmendResult":
      return t("dealer.request.AmendResult", { dice: callOf(game, said["dice"] as unknown as Roll) });
    case "Report": {
      const what = causeName(String(said["irregularity"]));
      const unit = game.conduct.procedure.unit;
      const rounds = ((said["rounds"] as number[] | undefined) ?? [])
        .map((round) => t(`dealer.unit.${unit}`, { round }))
        .join(", ");
      return rounds ? t("dealer.request.Report-rounds", { what, rounds }) : t("dealer.request.Report", { what });
    }
    case "ResolveInterruption": {
      const known = ((said["known"] as number[] | undefined) ?? []).map((face) => faceName(game.faces[face - 1] ?? ""));
      return t("dealer.request.ResolveInterruption", { dice: known.join(", ") || t("dealer.dialog.nothing") });
    }
    case "CorrectBet":
      return t("dealer.request.CorrectBet", {
        round: Number(said["round"]),
        player: playerName(String(said["player"] ?? "")),
        amount: money(Number(said["amount"]), currency, true),
      });
    case "PutBack":
      return t("dealer.request.PutBack", {
        amount: money(Number(said["amount"]), currency),
        box: boxName(String(said["box"])),
        to: boxName(String(said["to_box"])),
      });
    case "JudgeLine":
      return t("dealer.request.JudgeLine", {
        amount: money(Number(said["amount"]), currency),
        box: boxName(String(said["box"])),
      });
    case "SetLimits":
      return t("dealer.request.SetLimits");
    default: {
      const counts = countsOf(said);
      const what = counts && said["amount"] === undefined ? "counted" : "what";
      const summary = textOr(`pit.approvals.${what}.${String(said["type"])}`, String(said["type"]), {
        player: playerName(String(said["player"] ?? "")),
        amount: money(counts ? faceValue(counts) : Number(said["amount"] ?? 0), currency),
        piece: String(said["piece"] ?? ""),
      });
      return counts ? `${summary} (${countsText(counts, currency)})` : summary;
    }
  }
}
