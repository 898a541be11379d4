import { describe, expect, test } from "vitest";
import type { GameView, TableView } from "../../api/schema.d.ts";
import type { Roll } from "../../lib/dice.ts";
import { ROLLS } from "../../lib/dice.ts";
import { expectedOn, netOf, stakedIn } from "./expected.ts";

const ROLL: Roll = [1, 4, 5];
const rolls = (wins: (roll: Roll) => boolean) => ROLLS.map((roll) => (wins(roll) ? "1" : "0")).join("");
const box = (id: string, odds: string, wins: (roll: Roll) => boolean, throws = 1) => ({
  id,
  throws,
  lines: [{ odds, ways: 0, rolls: rolls(wins) }],
});
const sum = ([a, b, c]: Roll) => a + b + c;
const BOXES = [
  box("small", "1 to 1", (roll) => sum(roll) < 11),
  box("big", "1 to 1", (roll) => sum(roll) > 10),
  box("total:10", "19 to 20", (roll) => sum(roll) === 10),
  box("shooter", "9 to 1", (roll) => roll.includes(1), 4),
];
const SHARED = {
  areas: "per-box",
  maximum: { scope: "box", unnoticed: "pro-rata" },
  pro_rata: {},
  differential: { pairs: [["big", "small"]], unnoticed: "pro-rata" },
};
const OWN = { areas: "per-box", maximum: { scope: "player", unnoticed: "stands" }, pro_rata: null, differential: null };

function expected(
  areas: Record<string, number>,
  { limits = OWN as object, totals = areas, shooter = null as object | null, roll = ROLL } = {},
) {
  const game = { boxes: BOXES, conduct: { limits, shooter: { box: "shooter" } } };
  const bets: Record<string, number> = {};
  for (const [area, stake] of Object.entries(areas))
    bets[area.split("@")[0]!] = (bets[area.split("@")[0]!] ?? 0) + stake;
  const view = {
    seats: { ann: { areas, bets } },
    round: { totals },
    limits: { boxes: {}, families: MAXIMA, differential: { big: 300 } },
    shooter,
  };
  return expectedOn(game as unknown as GameView, view as unknown as TableView, "ann", roll);
}
const MAXIMA = Object.fromEntries(["small", "big", "total"].map((family) => [family, { minimum: 1, maximum: 1000 }]));

describe("the expected settlement", () => {
  test("has losing stakes, winning stakes and the winnings at the odds of the roll", () => {
    const found = expected({ small: 500, big: 300, "total:10": 40 })!;
    expect(found).toEqual({
      lost: { big: 300 },
      won: { small: 500, "total:10": 40 },
      winnings: { small: 500, "total:10": 38 },
    });
    expect([netOf(found), stakedIn(found)]).toEqual([238, 840]);
  });

  test("pays a box with chips at both ends once", () => {
    const found = expected({ "small@left": 100, "small@right": 200 })!;
    expect(found.winnings).toEqual({ "small@left": 300, "small@right": 0 });
  });

  test("is empty for a player without bets", () => {
    expect(stakedIn(expected({})!)).toBe(0);
  });
});

describe("a shooter's bet", () => {
  const shooter = { player: "ann", stake: 100 };

  test.each([
    [{ ...shooter, throws: 0 }, ROLL, 0],
    [{ ...shooter, throws: 3 }, ROLL, 900],
    [{ ...shooter, throws: 3 }, [2, 2, 2] as Roll, -100],
    [{ ...shooter, player: "bob", throws: 3 }, ROLL, 0],
  ])("%j on %j brings %i", (at, roll, net) => {
    expect(netOf(expected({}, { shooter: at, roll })!)).toBe(net);
  });
});

describe("bets that share a limit", () => {
  test.each([
    ["up to the maximum", { small: 1000, big: 900 }, true],
    ["over the maximum", { small: 1001, big: 900 }, false],
    ["up to the differential", { small: 400, big: 100 }, true],
    ["over the differential", { small: 401, big: 100 }, false],
  ])("are expected to play in full only if they are not apportioned: %s", (_, totals, known) => {
    expect(expected({ small: 100 }, { limits: SHARED, totals }) !== null).toBe(known);
  });

  test("over the maximum play in full where each player has a maximum of their own", () => {
    expect(expected({ small: 100 }, { totals: { small: 5000 } })).not.toBeNull();
  });
});
