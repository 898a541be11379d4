// Words about bets that the limits do not allow.

import { texts } from "../../texts/texts.ts";

export const d = texts(
  {
    "over-maximum": "over the maximum",
    "over-differential": "over the differential",
    "under-minimum": "under the minimum",
    "flag-line": "{amount}, allowed {allowed}",
    "flag-least": "{amount}, at least {allowed}",
    reject: "Reject excess",
    "ask-increase": "Ask to increase",
    "say-increase":
      "{player}: your bet on {box} is under the minimum of {minimum}. Please increase it or take it back.",
  },
  {
    "over-maximum": "超過最高限額",
    "over-differential": "超過差額限制",
    "under-minimum": "低於最低限額",
    "flag-line": "{amount}，容許 {allowed}",
    "flag-least": "{amount}，最少 {allowed}",
    reject: "退回超額",
    "ask-increase": "請玩家加注",
    "say-increase": "{player}：您在{box}的注碼低於最低限額 {minimum}，請加注或取回。",
  },
  {
    "over-maximum": "超过最高限额",
    "over-differential": "超过差额限制",
    "under-minimum": "低于最低限额",
    "flag-line": "{amount}，容许 {allowed}",
    "flag-least": "{amount}，最少 {allowed}",
    reject: "退回超额",
    "ask-increase": "请玩家加注",
    "say-increase": "{player}：您在{box}的注码低于最低限额 {minimum}，请加注或取回。",
  },
);
