// Words for what a second person is asked to agree to.

import { texts } from "../../texts/texts.ts";

export const d = texts(
  {
    "request-AmendResult": "Amend the result to {dice}",
    "request-Report": "{what}",
    "request-Report-rounds": "{what}: {rounds}",
    "request-ResolveInterruption": "Interruption: known dice {dice}",
    "request-SetLimits": "Change the limits",
    "request-CorrectBet": "Correct round {round}: {amount}",
  },
  {
    "request-AmendResult": "把結果更正為 {dice}",
    "request-Report": "{what}",
    "request-Report-rounds": "{what}：{rounds}",
    "request-ResolveInterruption": "中斷：已知骰子 {dice}",
    "request-SetLimits": "更改限額",
    "request-CorrectBet": "更正第 {round} 局：{amount}",
  },
  {
    "request-AmendResult": "把结果更正为 {dice}",
    "request-Report": "{what}",
    "request-Report-rounds": "{what}：{rounds}",
    "request-ResolveInterruption": "中断：已知骰子 {dice}",
    "request-SetLimits": "更改限额",
    "request-CorrectBet": "更正第 {round} 局：{amount}",
  },
);
