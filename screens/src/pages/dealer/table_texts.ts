// Words of the dialog about the whole table.

import { texts } from "../../texts/texts.ts";

export const d = texts(
  {
    "close-table": "Close the table",
    "close-what": "Everyone takes his chips; a round without a result is void and its bets are returned.",
    release: "Release the table",
    abandon: "Abandon the round",
    "abandon-what": "The round is void: {bets} Only while nothing has been called.",
    correct: "Correct a settled bet",
    "correct-round": "Round",
    "correct-to": "To the player",
    "correct-from": "From the player",
  },
  {
    "close-table": "關檯",
    "close-what": "所有玩家取回籌碼；未有結果的一局作廢，注碼退回。",
    release: "解除鎖定",
    abandon: "放棄本局",
    "abandon-what": "本局作廢：{bets}只限尚未報點之時。",
    correct: "更正已結算的注碼",
    "correct-round": "局",
    "correct-to": "付給玩家",
    "correct-from": "向玩家收回",
  },
  {
    "close-table": "关台",
    "close-what": "所有玩家取回筹码；未有结果的一局作废，注码退回。",
    release: "解除锁定",
    abandon: "放弃本局",
    "abandon-what": "本局作废：{bets}只限尚未报点之时。",
    correct: "更正已结算的注码",
    "correct-round": "局",
    "correct-to": "付给玩家",
    "correct-from": "向玩家收回",
  },
);
