import { expect, test } from "vitest";
import type { Event, StatementLine, TableView } from "../../api/schema.d.ts";
import { said } from "../../lib/announcer.svelte.ts";
import type { Following } from "../../table/following.svelte.ts";
import { inStatement } from "./notices.ts";
import { Story } from "./story.svelte.ts";

const GAME = { conduct: { limits: {}, procedure: { steps: {} }, shooter: null } };
const LYING = { big: 500, "total:9": 100 };

/** Create a story of Ann at a table, and a function that applies an event to it. */
function begun() {
  let hear: (event: Event, at: number, view: TableView) => void = () => undefined;
  const following = {
    table: "7",
    game: GAME,
    onEvent: (listener: typeof hear) => ((hear = listener), () => undefined),
  };
  const story = new Story(following as unknown as Following, "ann");
  story.start();
  const happen = (event: object, done: string[] = [], at = 0) => {
    const round = { number: 4, done, result: [6, 5, 1] };
    const view = { version: 9, rounds: 3, currency: "SGD", round, seats: { ann: { areas: LYING } } };
    hear(event as Event, at, view as unknown as TableView);
  };
  return { story, happen };
}

test("an outcome has what was lost and won, and the net of both", () => {
  const { story, happen } = begun();
  happen({ type: "BettingClosed" }, ["open-betting", "close-betting"]);
  happen({ type: "LosersCollected", bets: [["total:9", "ann", 100]] }, ["collect-losers"]);
  happen({ type: "WinnersPaid", round: 4, dice: [6, 5, 1], bets: [["big", "ann", 500, 500], ["big", "bob", 1, 1]] }, ["collect-losers"]); // prettier-ignore
  expect(story.outcome).toEqual({
    round: 4,
    dice: [6, 5, 1],
    lost: { "total:9": 100 },
    won: { big: 500 },
    winnings: { big: 500 },
    net: 400,
    settled: true,
  });
  expect(said.polite).toContain("+4.00");
});

test("the outcome is shown until the next round starts", () => {
  const { story, happen } = begun();
  happen({ type: "LosersCollected", bets: [] }, ["collect-losers"]);
  expect(story.showing).toBe(true);
  happen({ type: "RoundStarted" });
  expect(story.showing).toBe(false);
});

test.each([
  { type: "RoundVoided", round: 4, cause: "dice-not-flat", returned: [] },
  { type: "RoundsReversed", rounds: [3, 4], cause: "dice-not-flat", transfers: [["bob", 100]] },
])("$type takes the outcome of its round away", (event) => {
  const { story, happen } = begun();
  happen({ type: "WinnersPaid", round: 4, dice: [6, 5, 1], bets: [["big", "ann", 500, 500]] }, ["collect-losers"]);
  happen(event);
  expect(story.outcome).toBeNull();
  expect(story.showing).toBe(false);
});

test("a reversal of earlier rounds keeps the last outcome", () => {
  const { story, happen } = begun();
  happen({ type: "WinnersPaid", round: 4, dice: [6, 5, 1], bets: [] }, ["collect-losers"]);
  happen({ type: "RoundsReversed", rounds: [2], cause: "dice-damaged", transfers: [] });
  expect(story.showing).toBe(true);
});

test("the bets that lay at the close are the ones to bet again", () => {
  const { story, happen } = begun();
  happen({ type: "BettingClosed" }, ["open-betting", "close-betting"]);
  expect(story.last).toEqual(LYING);
});

test("a void round is a notice with what was returned to the player", () => {
  const { story, happen } = begun();
  const returned = [["big", "ann", 500], ["big", "bob", 900]]; // prettier-ignore
  happen({ type: "RoundVoided", round: 4, cause: "dice-damaged", returned });
  expect(story.told.open).toEqual([{ id: "void 4", what: "void", round: 4, amount: 500, note: "dice-damaged" }]);
  story.dismiss("void 4");
  expect(story.told.open).toEqual([]);
});

test("a throw that does not count is a notice each time", () => {
  const { story, happen } = begun();
  happen({ type: "ThrowRepeated", cause: "dice-not-flat" });
  expect(story.told.open).toMatchObject([{ what: "again", round: 4, amount: 0, note: "dice-not-flat" }]);
});

test("equal amounts that are set off in one round are a notice each, with the id that the statement gives it", () => {
  const { story, happen } = begun();
  const event = { type: "DebtRepaid", player: "ann", round: 4, amount: 30, source: "winnings" };
  for (const at of [1000, 1200]) happen(event, [], at);
  const line = { at: 1200, table: "7", what: "set off", round: 4, amount: 0, debt: -30, note: "winnings" };
  const [last] = inStatement([line as StatementLine], "7", 1300);
  expect(story.told.open).toHaveLength(2);
  expect(story.told.open[1]).toEqual(last);
});

test("a correction for another player is no notice", () => {
  const { story, happen } = begun();
  happen({ type: "BetCorrected", player: "bob", round: 3, amount: 100, reason: "misread" });
  expect(story.told.open).toEqual([]);
});
