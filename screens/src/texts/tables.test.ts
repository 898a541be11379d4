import { expect, test } from "vitest";
import { tableTitle } from "./tables.ts";

test.each([
  ["tai-sai-a", "Tai Sai A"],
  ["crown-and-anchor", "Crown and Anchor"],
  ["new-zealand-1", "New Zealand 1"],
  ["macau", "Macau"],
  ["sg-e", "SG E"],
  ["7", "Table 7"],
  ["p12", "Table P12"],
  ["High_Limit.2", "High Limit 2"],
])("table %s is titled %s", (table, title) => {
  expect(tableTitle(table)).toBe(title);
});
