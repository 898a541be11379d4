// Words about how dice are proved fair.

import { texts } from "../../texts/texts.ts";

export const s = texts(
  {
    fair: "Verify the dice",
    "fair-how":
      "The house seals a secret seed before betting opens and shows its seal. The dice follow from that seed and from every bet of the round; afterwards the seed is shown.",
    "fair-seal": "Seal of the seed (SHA-256):",
    "fair-seed": "Seed of round {round}:",
    "fair-its-seal": "Its seal, shown before the bets:",
    "fair-fits": "This seed is the one that was sealed.",
    "fair-differs": "This seed is not the one that was sealed. Ask the staff.",
    "fair-more": "From the log of table {table}, anybody can work out all its dice with",
    "fair-lost": "Seeds lost with a server, their rounds void: {lost}.",
  },
  {
    fair: "驗證骰子",
    "fair-how": "開始下注之前，賭場先封存一個秘密種子並公布其封印。骰子由該種子與本局所有注碼共同決定，事後公開種子。",
    "fair-seal": "種子封印（SHA-256）：",
    "fair-seed": "第 {round} 局的種子：",
    "fair-its-seal": "其封印（下注前已公布）：",
    "fair-fits": "此種子與封印相符。",
    "fair-differs": "此種子與封印不符，請向職員查詢。",
    "fair-more": "任何人都可由 {table} 號檯的記錄算出所有骰子，使用",
    "fair-lost": "隨伺服器遺失的種子（該局作廢）：{lost}。",
  },
  {
    fair: "验证骰子",
    "fair-how": "开始下注之前，赌场先封存一个秘密种子并公布其封印。骰子由该种子与本局所有注码共同决定，事后公开种子。",
    "fair-seal": "种子封印（SHA-256）：",
    "fair-seed": "第 {round} 局的种子：",
    "fair-its-seal": "其封印（下注前已公布）：",
    "fair-fits": "此种子与封印相符。",
    "fair-differs": "此种子与封印不符，请向员工查询。",
    "fair-more": "任何人都可由 {table} 号台的记录算出所有骰子，使用",
    "fair-lost": "随服务器遗失的种子（该局作废）：{lost}。",
  },
);
