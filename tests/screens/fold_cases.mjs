// Folds what happened at tables that a test has played, and compares with the house's own views:
// `node fold_cases.mjs FILE`, a game or a run of a table in each line. Tells what differs.

import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { isDeepStrictEqual } from "node:util";
import { folded } from "../../screens/src/table/fold.ts";

const games = new Map();
const differing = [];
let compared = 0;

for await (const line of createInterface({ input: createReadStream(process.argv[2]) })) {
  const said = JSON.parse(line);
  if (said.hash) games.set(said.hash, frozen(said));
  else follow(said, games.get(said.view.game_hash));
}
console.log(JSON.stringify({ compared, differing: differing.slice(0, 5), count: differing.length }));

/** Follow a run from its first view, and once more from one in the middle, as after a cut. */
function follow(run, game) {
  const middle = run.steps.length >> 1;
  let expected = run.view;
  let view = frozen(run.view);
  let resumed = null;
  for (const [place, { happened, changed }] of run.steps.entries()) {
    expected = { ...expected, ...changed };
    view = compare(run, happened, folded(view, happened, game), expected);
    if (resumed) resumed = compare(run, happened, folded(resumed, happened, game), expected);
    else if (place === middle) resumed = frozen(structuredClone(expected));
  }
}

/** Return the view that goes on: the house's own, where the folded one differs from it. */
function compare(run, happened, view, expected) {
  compared += 1;
  if (isDeepStrictEqual(view, expected)) return frozen(view);
  const fields = Object.keys({ ...view, ...expected }).filter((each) => !isDeepStrictEqual(view[each], expected[each]));
  differing.push({
    run: run.name,
    event: happened.event ?? null,
    fields: Object.fromEntries(fields.map((each) => [each, { folded: view[each], house: expected[each] }])),
  });
  return frozen(structuredClone(expected));
}

/** Nothing may change in what a screen has shown already. */
function frozen(value) {
  if (value === null || typeof value !== "object" || Object.isFrozen(value)) return value;
  Object.values(value).forEach(frozen);
  return Object.freeze(value);
}
