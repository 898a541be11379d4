// Words in which a player is told what became of his bets.

import { texts } from "../../texts/texts.ts";

export const s = texts(
  {
    "notice-void": "Round {round} is void.",
    "notice-void-back": "Round {round} is void. {amount} went back to your stack.",
    "notice-reversed-paid": "Round {round} was undone. {amount} was paid to you.",
    "notice-reversed-taken": "Round {round} was undone. {amount} was taken back from you.",
    "notice-corrected-paid": "Round {round} was corrected. {amount} was paid to you.",
    "notice-corrected-taken": "Round {round} was corrected. {amount} was taken back from you.",
    "notice-ruling-paid": "The shift manager has ruled. {amount} was paid to you.",
    "notice-ruling-taken": "The shift manager has ruled. {amount} was taken from you.",
    "notice-goes-on": "Round {round} was interrupted and goes on; your bets count.",
    "notice-rejected-maximum":
      "{amount} of yours on {box} was over the maximum and went back to your stack (round {round}).",
    "notice-rejected-differential":
      "{amount} of yours on {box} was over the differential and went back to your stack (round {round}).",
    "notice-apportioned":
      "{amount} of yours on {box} went back to your stack: the box was over its limit and plays in proportion (round {round}).",
    "notice-line":
      "{amount} of yours touched a line at {box} and is no bet; it went back to your stack (round {round}).",
    "notice-moved": "{amount} of yours was moved from {box} to {to} (round {round}).",
    "notice-put-back": "{amount} of yours was put back from {box} to {to} (round {round}).",
    "notice-read": "I have read this",
  },
  {
    "notice-void": "第 {round} 局作廢。",
    "notice-void-back": "第 {round} 局作廢，{amount} 已退回您的籌碼。",
    "notice-reversed-paid": "第 {round} 局已撤銷，已付給您 {amount}。",
    "notice-reversed-taken": "第 {round} 局已撤銷，已向您收回 {amount}。",
    "notice-corrected-paid": "第 {round} 局已更正，已付給您 {amount}。",
    "notice-corrected-taken": "第 {round} 局已更正，已向您收回 {amount}。",
    "notice-ruling-paid": "值班經理已裁定，已付給您 {amount}。",
    "notice-ruling-taken": "值班經理已裁定，已向您收取 {amount}。",
    "notice-goes-on": "第 {round} 局曾中斷，現繼續進行，您的注碼有效。",
    "notice-rejected-maximum": "您在 {box} 的 {amount} 超出上限，已退回籌碼（第 {round} 局）。",
    "notice-rejected-differential": "您在 {box} 的 {amount} 超出差額上限，已退回籌碼（第 {round} 局）。",
    "notice-apportioned": "{box} 超出限額，按比例計注，您的 {amount} 已退回籌碼（第 {round} 局）。",
    "notice-line": "您在 {box} 的 {amount} 壓線，不作下注，已退回籌碼（第 {round} 局）。",
    "notice-moved": "您的 {amount} 已由 {box} 移至 {to}（第 {round} 局）。",
    "notice-put-back": "您的 {amount} 已由 {box} 放回 {to}（第 {round} 局）。",
    "notice-read": "我已閱讀",
  },
  {
    "notice-void": "第 {round} 局作废。",
    "notice-void-back": "第 {round} 局作废，{amount} 已退回您的筹码。",
    "notice-reversed-paid": "第 {round} 局已撤销，已付给您 {amount}。",
    "notice-reversed-taken": "第 {round} 局已撤销，已向您收回 {amount}。",
    "notice-corrected-paid": "第 {round} 局已更正，已付给您 {amount}。",
    "notice-corrected-taken": "第 {round} 局已更正，已向您收回 {amount}。",
    "notice-ruling-paid": "值班经理已裁定，已付给您 {amount}。",
    "notice-ruling-taken": "值班经理已裁定，已向您收取 {amount}。",
    "notice-goes-on": "第 {round} 局曾中断，现继续进行，您的注码有效。",
    "notice-rejected-maximum": "您在 {box} 的 {amount} 超出上限，已退回筹码（第 {round} 局）。",
    "notice-rejected-differential": "您在 {box} 的 {amount} 超出差额上限，已退回筹码（第 {round} 局）。",
    "notice-apportioned": "{box} 超出限额，按比例计注，您的 {amount} 已退回筹码（第 {round} 局）。",
    "notice-line": "您在 {box} 的 {amount} 压线，不作下注，已退回筹码（第 {round} 局）。",
    "notice-moved": "您的 {amount} 已由 {box} 移至 {to}（第 {round} 局）。",
    "notice-put-back": "您的 {amount} 已由 {box} 放回 {to}（第 {round} 局）。",
    "notice-read": "我已阅读",
  },
);
