// Describe a request for the second person who decides on it.

import type { GameView, RequestView } from "../../api/schema.d.ts";
import { rollIndex } from "../../lib/dice.ts";
import type { Roll } from "../../lib/dice.ts";
import { money } from "../../lib/money.ts";
import { faceName } from "../../texts/boxes.ts";
import { t } from "../../texts/texts.ts";
import { causeName } from "../../texts/irregularities.ts";

export function requested(request: RequestView, game: GameView, currency: string): string {
  const said = request.command as Record<string, unknown>;
  switch (said["type"]) {
    case "AmendResult":
      return t("dealer.request.AmendResult", { dice: game.calls[rollIndex(said["dice"] as unknown as Roll)] ?? "" });
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
        amount: money(Number(said["amount"]), currency, true),
      });
    case "SetLimits":
      return t("dealer.request.SetLimits");
    default:
      return String(said["type"]);
  }
}
