// Computes rooms and judges bets as the player's screen does, and compares them with the server's:
// `node room_cases.mjs FILE`, with a game in a line and its cases in the lines after it. Prints what differs.

import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { isDeepStrictEqual } from "node:util";
import { faults, roomAt } from "../../screens/src/pages/player/room.ts";

const differing = [];
let game = null;
let rooms = 0;
let bets = 0;

for await (const line of createInterface({ input: createReadStream(process.argv[2]) })) {
  const read = JSON.parse(line);
  if (read.hash) game = read;
  else compare(read);
}
console.log(JSON.stringify({ rooms, bets, differing }));

function compare({ player, view, room: { version: _, ...expected }, bets: judged }) {
  const room = roomAt(game, view, player);
  rooms += 1;
  if (!isDeepStrictEqual(room, expected)) differing.push(difference(player, room, expected));
  const seat = view.seats[player];
  const purse = {
    stack: seat?.stack ?? 0,
    chip: seat?.colour_value || view.chips[0] || 1,
    refuses: view.mode === "refuse",
  };
  for (const { area, amount, fault } of judged) {
    bets += 1;
    const found = faults(game, room, purse, [{ area, amount }]).map(({ kind }) => kind);
    const agrees = fault ? found.includes(fault) : !found.length;
    if (!agrees) differing.push({ game: game.id, player, area, amount, found, expected: fault });
  }
}

/** The spots and pairs of boxes that differ. */
function difference(player, room, expected) {
  const spots = Object.keys({ ...room.spots, ...expected.spots });
  const wrong = spots.filter((spot) => !isDeepStrictEqual(room.spots[spot], expected.spots[spot]));
  return {
    game: game.id,
    player,
    spots: wrong.map((spot) => ({ spot, screen: room.spots[spot], server: expected.spots[spot] })),
    differential: { screen: room.differential, server: expected.differential },
  };
}
