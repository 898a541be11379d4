// What is seen to before a table opens.

import { texts } from "../../texts/texts.ts";

export const c = texts(
  {
    checks: "Before opening",
    "check-passed": "In order",
    "check-power": "The equipment has power and is switched on",
    "check-test-runs": "Test runs light the winning areas correctly",
    "check-tumbler": "The tumbler works correctly",
    "check-seal": "The dice are under seal, and the seal is untouched",
  },
  {
    checks: "開檯檢查",
    "check-passed": "正常",
    "check-power": "電子設備已接電並開啟",
    "check-test-runs": "測試時中獎注區亮燈正確",
    "check-tumbler": "骰盅運作正常",
    "check-seal": "三顆骰子封存，封條完好",
  },
  {
    checks: "开台检查",
    "check-passed": "正常",
    "check-power": "电子设备已接电并开启",
    "check-test-runs": "测试时中奖注区亮灯正确",
    "check-tumbler": "骰盅运作正常",
    "check-seal": "三颗骰子封存，封条完好",
  },
);
