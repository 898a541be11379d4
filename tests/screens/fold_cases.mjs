// Folds the events of random tables as a page does, and compares each view with the server's:
// `node fold_cases.mjs FILE`, with a game or a run of a table on each line. Prints the differences.

import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { isDeepStrictEqual } from "node:util";
import { folded } from "../../screens/src/table/fold.ts";

const games = new Map();
const differences = [];
let compared = 0;

for await (const line of createInterface({ input: createReadStream(process.argv[2]) })) {
  const entry = JSON.parse(line);
  if (entry.hash) games.set(entry.hash, deepFreeze(entry));
  else replay(entry, games.get(entry.view.game_hash));
}
console.log(JSON.stringify({ compared, differences: differences.slice(0, 5), count: differences.length }));

/** Fold a run from its first view, and again from one in the middle, as after a reconnect. */
function replay(run, game) {
  const middle = run.steps.length >> 1;
  let expected = run.view;
  let view = deepFreeze(run.view);
  let resumed = null;
  for (const [index, { event, changed }] of run.steps.entries()) {
    expected = { ...expected, ...changed };
    view = compare(run, event, folded(view, event, game), expected);
    if (resumed) resumed = compare(run, event, folded(resumed, event, game), expected);
    else if (index === middle) resumed = deepFreeze(structuredClone(expected));
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
