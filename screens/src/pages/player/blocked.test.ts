import { expect, test } from "vitest";
import { whyBlocked } from "./blocked.ts";
import type { Seen } from "./blocked.ts";

const NOW = 3_600_000_000;
const view = { open: true, interrupted: 0, locked: [], round: null, dealt_by_house: null, betting_since: NOW };
const seen = { plays: true, connected: true, suspended: false, view };
const closed = { ...view, round: { done: ["open-betting", "close-betting"], result: null } };

test.each([
  ["watching", { plays: false }],
  ["away", { connected: false }],
  ["suspended", { suspended: true }],
  ["table-closed", { view: { ...view, open: false } }],
  ["interrupted", { view: { ...closed, interrupted: 4 } }],
  ["shut", { view: closed }],
  ["unattended", { view: { ...view, betting_since: 0 } }],
  ["not-open", {}],
])("a press is blocked because of %s", (why, changed) => {
  expect(whyBlocked({ ...seen, ...changed } as Seen, NOW)).toBe(why);
});
