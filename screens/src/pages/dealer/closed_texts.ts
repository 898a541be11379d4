// Words of a table that is closed, and of opening it.

import { texts } from "../../texts/texts.ts";

export const d = texts(
  {
    "open-table": "Open the table",
    "open-float": "Float",
    "open-minimum": "Minimum",
    "open-maximum": "Maximum",
    "open-differential": "Differential",
    "open-who": "Opened by: {roles}",
    closed: "The table is closed",
  },
  {
    "open-table": "開檯",
    "open-float": "檯面籌碼",
    "open-minimum": "最低限額",
    "open-maximum": "最高限額",
    "open-differential": "差額限制",
    "open-who": "開檯職位：{roles}",
    closed: "賭檯已關閉",
  },
  {
    "open-table": "开台",
    "open-float": "台面筹码",
    "open-minimum": "最低限额",
    "open-maximum": "最高限额",
    "open-differential": "差额限制",
    "open-who": "开台职位：{roles}",
    closed: "赌台已关闭",
  },
);
