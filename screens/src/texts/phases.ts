// Phases of a table, in the words of the lobby and of the board on the wall.

import { texts } from "./texts.ts";

export const phaseText = texts(
  {
    closed: "Table closed",
    interrupted: "Interrupted – waiting for the staff",
    locked: "Locked until released",
    waiting: "Between rounds",
    betting: "Place your bets",
    closing: "No more bets",
    settling: "Result – bets are being settled",
    damaged: "Out of order",
  },
  {
    closed: "賭桌已關閉",
    interrupted: "中斷－等候職員處理",
    locked: "已鎖定，待解除",
    waiting: "局間等候",
    betting: "請下注",
    closing: "停止下注",
    settling: "已開骰－正在派彩",
    damaged: "暫停使用",
  },
  {
    closed: "赌桌已关闭",
    interrupted: "中断－等候职员处理",
    locked: "已锁定，待解除",
    waiting: "局间等候",
    betting: "请下注",
    closing: "停止下注",
    settling: "已开骰－正在派彩",
    damaged: "暂停使用",
  },
);
