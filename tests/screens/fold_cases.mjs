// Folds the events of random tables as a page does, and compares each view with the server's; compares the net that
// the page expects at the call with the one that is paid, and the changes of totals that the pit's rounds compute with
// the server's. `node fold_cases.mjs FILE`, with a game or a run of a table on each line. Prints the differences.

import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { isDeepStrictEqual } from "node:util";
import { spotTotalChanges } from "../../screens/src/pages/pit/rounds/timeline.ts";
import { expectedOn, netOf } from "../../screens/src/pages/player/expected.ts";
import { folded } from "../../screens/src/table/fold.ts";

const games = new Map();
const differences = [];
/** The nets expected in the round of a run by player, and what has been lost and won since. */
const rounds = new WeakMap();
let compared = 0;
let nets = 0;
let shared = 0;

for await (const line of createInterface({ input: createReadStream(process.argv[2]) })) {
  const entry = JSON.parse(line);
  if (entry.hash) games.set(entry.hash, deepFreeze(entry));
  else replay(entry, games.get(entry.view.game_hash));
}
console.log(JSON.stringify({ compared, nets, shared, differences: differences.slice(0, 5), count: differences.length }));

/** Fold a run from its first view, and again from one in the middle, as after a reconnect. */
function replay(run, game) {
  const middle = run.steps.length >> 1;
  let expected = run.view;
  let view = deepFreeze(run.view);
  let resumed = null;
  for (const [index, { event, changed }] of run.steps.entries()) {
    compareNets(run, event.event, expected, game);
    if (run.seesAll) compareTotals(run, event);
    expected = { ...expected, ...changed };
    view = compare(run, event, folded(view, event, game), expected);
    if (resumed) resumed = compare(run, event, folded(resumed, event, game), expected);
    else if (index === middle) resumed = deepFreeze(structuredClone(expected));
  }
}

function compareTotals(run, { event, totals }) {
  const computed = spotTotalChanges(event);
  if (!isDeepStrictEqual(computed, totals)) differences.push({ run: run.name, event, computed, totals });
}

/** Compare what players are expected to win or lose with what is collected and paid. */
function compareNets(run, event, before, game) {
  if (!event) return;
  const settles = event.type === "BetsApportioned" || event.type === "LosersCollected";
  if (settles && before.round?.called && !rounds.has(run)) {
    const players = Object.keys(before.seats);
    const due = players.map((player) => [player, expectedOn(game, before, player, before.round.called)]);
    rounds.set(run, { due: new Map(due), net: new Map() });
  }
  const round = rounds.get(run);
  if (!round) return;
  const add = (player, amount) => round.net.set(player, (round.net.get(player) ?? 0) + amount);
  if (event.type === "LosersCollected") for (const [, player, stake] of event.bets) add(player, -stake);
  if (event.type === "ShooterLost") add(event.player, -event.stake);
  if (event.type === "ShooterWon") add(event.player, event.winnings);
  if (event.type === "RoundVoided" || event.type === "ThrowRepeated") rounds.delete(run);
  if (event.type !== "AreaPaid" && event.type !== "WinnersPaid") return;
  for (const [, player, , winnings] of event.bets) add(player, winnings);
  if (event.type === "AreaPaid") return;
  rounds.delete(run);
  for (const [player, due] of round.due) {
    if (due) nets += 1;
    else shared += 1;
    const paid = round.net.get(player) ?? 0;
    if (due && netOf(due) !== paid) differences.push({ run: run.name, player, expected: netOf(due), paid });
  }
}

/** Return the view to continue with: the server's, where the folded one differs from it. */
function compare(run, event, view, expected) {
  compared += 1;
  if (isDeepStrictEqual(view, expected)) return deepFreeze(view);
  const fields = Object.keys({ ...view, ...expected }).filter((each) => !isDeepStrictEqual(view[each], expected[each]));
  differences.push({
    run: run.name,
    event: event.event ?? null,
    fields: Object.fromEntries(fields.map((each) => [each, { folded: view[each], server: expected[each] }])),
  });
  return deepFreeze(structuredClone(expected));
}

/** Freeze a value deeply: the fold must not change an earlier view. */
function deepFreeze(value) {
  if (value === null || typeof value !== "object" || Object.isFrozen(value)) return value;
  Object.values(value).forEach(deepFreeze);
  return Object.freeze(value);
}
