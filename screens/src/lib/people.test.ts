import { expect, test } from "vitest";
import type { PlayerLine } from "../api/schema.d.ts";
import { detailsOf, distinctNames, nameOf, withSeat } from "./people.ts";

const line = (player: string, known: Partial<PlayerLine> = {}): PlayerLine => ({
  player,
  name: "",
  card: "",
  guest: 0,
  seat: 0,
  ...known,
});

test.each([
  [line("a", { name: "Ann Tan", card: "4F2A-91C7" }), "Ann Tan"],
  [line("guest-7-0123456789ab", { guest: 7 }), "Guest 7"],
  [line("4f2a91c7d0331b5e6a78"), "Player 4f2a91c7"],
  [line("walk-in"), "walk-in"],
])("a player is named by what is known of them", (known, name) => {
  expect(nameOf(known)).toBe(name);
});

test("players with different names keep them", () => {
  const names = distinctNames([line("a", { name: "Ann" }), line("b", { name: "Bob" })]);
  expect([...names.values()]).toEqual(["Ann", "Bob"]);
});

test("players with the same name are told apart by card number", () => {
  const names = distinctNames([
    line("a", { name: "Ann Tan", card: "4F2A-91C7", seat: 1 }),
    line("b", { name: "ann  tan", card: "77B0-0001", seat: 2 }),
    line("Ann Tan", { seat: 3 }),
    line("c", { name: "Cat" }),
  ]);
  expect([...names]).toEqual([
    ["c", "Cat"],
    ["a", "Ann Tan · 4F2A-91C7"],
    ["b", "ann  tan · 77B0-0001"],
    ["Ann Tan", "Ann Tan · no account"],
  ]);
});

test("guests with the same number are told apart by seat, and by id if nothing else differs", () => {
  const names = distinctNames([
    line("guest-1-a", { guest: 1, seat: 4 }),
    line("guest-1-b", { guest: 1 }),
    line("guest-1-c", { guest: 1 }),
  ]);
  expect(new Set(names.values()).size).toBe(3);
  expect(names.get("guest-1-a")).toBe("Guest 1 · Seat 4");
  expect(names.get("guest-1-b")).toBe("Guest 1 · guest-1-b");
});

test("a label has the seat, and the details have seat and card number", () => {
  const ann = line("a", { name: "Ann", card: "4F2A-91C7", seat: 3 });
  expect(withSeat(ann, "Ann")).toBe("Seat 3 · Ann");
  expect(detailsOf(ann)).toBe("Seat 3 · Card 4F2A-91C7");
  expect(detailsOf(line("g", { guest: 1 }))).toBe("no account");
});
