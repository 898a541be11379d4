import { expect, test } from "vitest";
import type { Event, GameView, RoundHistory, TableView } from "../../../api/schema.d.ts";
import { spotTotalChanges, stepsOf } from "./timeline.ts";

const BOXES = ["big", "small", "single:6"];
const GAME = {
  boxes: BOXES.map((id) => ({ id, ends: [""] })),
  felt: { areas: BOXES.map((id) => ({ id, box: id })) },
  conduct: { procedure: { order: ["open-betting", "close-betting", "collect-losers", "pay-winners"], steps: {} } },
} as unknown as GameView;

const bet = (player: string, spot: string, amount: number) =>
  ({ type: "BetPlaced", player, spot, amount, area: "", number: 1, manner: "player" }) as unknown as Event;

/** Return the piles after each event of a round, as texts. */
function pilesAfter(events: readonly object[]): string[] {
  const empty = { seats: {}, standing: {}, owing: {}, float_amount: 0, drop: 0, shooter: null, round: null };
  const told = { events: events.map((event, i) => ({ version: i, at: i, event })), prose: [] };
  const steps = stepsOf(told as unknown as RoundHistory, empty as unknown as TableView, GAME);
  return steps.map(({ piles }) => piles.map((pile) => `${pile.area} ${pile.amount} ${pile.state}`).join(", "));
}

test("piles stay as they were settled, whatever else happens before all winners are paid", () => {
  const paid = { type: "AreaPaid", spot: "big", bets: [["big", "ann", 500, 500]] };
  const [collected, ...after] = pilesAfter([
    { type: "RoundStarted", round: 1 },
    { type: "BettingOpened" },
    bet("ann", "big", 500),
    bet("bob", "small", 200),
    bet("bob", "single:6", 100),
    { type: "BettingClosed" },
    { type: "LosersCollected", bets: [["small", "bob", 200]] },
    paid,
    { type: "DebtRepaid", player: "ann", amount: 100, source: "winnings", round: 1 },
    { type: "CashedOut", player: "ann", amount: 900, to: "account" },
    { type: "WinnersPaid", round: 1, dice: [6, 5, 1], bets: [["single:6", "bob", 100, 100]] },
  ]).slice(6);
  expect(collected).toBe("big 500 placed, small 200 lost, single:6 100 placed");
  const settled = "small 200 lost, single:6 100 placed, big 1000 won";
  expect(after).toEqual([settled, settled, settled, "big 1000 won, single:6 200 won"]);
});

test("a throw that is repeated after the losers were collected has all bets as they lay", () => {
  const last = pilesAfter([
    { type: "RoundStarted", round: 1 },
    bet("bob", "small", 200),
    { type: "LosersCollected", bets: [["small", "bob", 200]] },
    { type: "ThrowRepeated", cause: "dice-not-flat", restored: [["small", "bob", 200]] },
  ]).at(-1);
  expect(last).toBe("small 200 placed");
});

test("the total of a spot goes when its area is paid", () => {
  const bets = [["big", "ann", 500, 500], ["big", "bob", 300, 300]]; // prettier-ignore
  expect(spotTotalChanges({ type: "AreaPaid", spot: "big", bets } as unknown as Event)).toEqual({ big: -800 });
});
