// Words of a round that was interrupted.

import { texts } from "../../texts/texts.ts";

export const d = texts(
  {
    "known-none": "None is known",
    interrupted: "{round} was interrupted",
    "interrupted-why":
      "The house was away in mid-round. Say which dice are known; a second person confirms it. If any bet is decided by them, the round goes on; otherwise it is void.",
    "state-known": "State what is known",
  },
  {
    "known-none": "沒有已知的骰子",
    interrupted: "{round}中斷",
    "interrupted-why":
      "系統在局中中斷。請說明哪些骰子已知，並由第二人確認。若已有任何注區分出勝負，本局繼續；否則作廢。",
    "state-known": "申報已知骰子",
  },
  {
    "known-none": "没有已知的骰子",
    interrupted: "{round}中断",
    "interrupted-why":
      "系统在局中中断。请说明哪些骰子已知，并由第二人确认。若已有任何注区分出胜负，本局继续；否则作废。",
    "state-known": "申报已知骰子",
  },
);
