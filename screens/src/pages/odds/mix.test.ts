import { expect, test } from "vitest";
import type { GameView } from "../../api/schema.d.ts";
import { MAX_STAKE, mixIn, mixText, rollIn, stakesOf } from "./mix.ts";

const area = (id: string) => ({ id, box: id.split("@")[0] });
const game = {
  boxes: [
    { id: "big", throws: 1 },
    { id: "total:9", throws: 1 },
    { id: "shooter", throws: 3 },
  ],
  felt: { areas: ["big@left", "big@right", "total:9", "shooter"].map(area) },
} as unknown as GameView;

test("a mix returns from its text with the chips of both ends", () => {
  const chips = new Map([
    ["big@left", 100],
    ["big@right", 200],
    ["total:9", 500],
  ]);

  expect(mixText(chips)).toBe("big@left*100,big@right*200,total:9*500");
  expect(mixIn(mixText(chips), game)).toEqual({ chips, rejected: [] });
  expect(stakesOf(chips)).toEqual(new Map([["big", 300], ["total:9", 500]])); // prettier-ignore
});

test.each([
  ["an unknown area", "total:2*100"],
  ["a bet over several throws", "shooter*100"],
  ["no amount", "total:9"],
  ["nothing staked", "total:9*0"],
  ["a negative amount", "total:9*-5"],
  ["a fraction", "total:9*1.5"],
  ["more than the server accepts", `total:9*${MAX_STAKE + 1}`],
  ["a number beyond whole numbers", "total:9*9999999999999999"],
])("%s is rejected and the rest kept", (_, part) => {
  expect(mixIn(`big@left*100,${part}`, game)).toEqual({ chips: new Map([["big@left", 100]]), rejected: [part] });
});

test("an area counts once, and the areas of a box together have the highest stake", () => {
  const rest = `big@right*${MAX_STAKE - 99}`;

  expect(mixIn(`big@left*100,big@left*200,${rest}`, game).rejected).toEqual(["big@left*200", rest]);
});

test("a roll is three faces", () => {
  expect(rollIn("1-3-6")).toEqual([1, 3, 6]);
  for (const text of ["", "1-3", "0-1-2", "1-2-7", "1-2-3-4"]) expect(rollIn(text)).toBeNull();
});
