// Say why a press on the felt places no chip now. The server decides; this only words what the page knows already.

import { isUnattended, phaseOf } from "../../table/phase.ts";
import type { TableView } from "../../api/schema.d.ts";

export type Why =
  "watching" | "away" | "suspended" | "table-closed" | "interrupted" | "unattended" | "stopped" | "not-open" | "shut";

export interface Seen {
  readonly plays: boolean;
  readonly connected: boolean;
  readonly suspended: boolean;
  readonly view: Pick<TableView, "open" | "interrupted" | "locked" | "round" | "dealt_by_house" | "betting_since">;
}

export function whyBlocked({ plays, connected, suspended, view }: Seen, now: number): Why {
  if (!plays) return "watching";
  if (!connected) return "away";
  if (suspended) return "suspended";
  const phase = phaseOf(view);
  if (phase === "closed") return "table-closed";
  if (phase === "interrupted") return "interrupted";
  if (view.round?.stopped) return "stopped";
  if (phase === "closing" || phase === "settling") return "shut";
  return isUnattended(!!view.dealt_by_house, phase, view.betting_since, now) ? "unattended" : "not-open";
}
