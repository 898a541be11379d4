// Words of the dialog about one bet.

import { texts } from "../../texts/texts.ts";

export const d = texts(
  {
    "bet-title": "{player}: {amount} on {box}",
    "move-chips": "Chips lie elsewhere",
    "put-back": "Put chips back",
    "judge-in": "Touches the line: it is a bet",
    "judge-out": "Touches the line: no bet",
  },
  {
    "bet-title": "{player}：{box} {amount}",
    "move-chips": "籌碼移了位置",
    "put-back": "放回原位",
    "judge-in": "壓線：算下注",
    "judge-out": "壓線：不算",
  },
  {
    "bet-title": "{player}：{box} {amount}",
    "move-chips": "筹码移了位置",
    "put-back": "放回原位",
    "judge-in": "压线：算下注",
    "judge-out": "压线：不算",
  },
);
