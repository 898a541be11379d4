import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { isFavourite } from "../pages/player/favourites.ts";
import * as notices from "../pages/player/notices.ts";
import { isSet } from "../pages/player/slip.ts";
import { isRecord, isText, read, readList, readText, write, writeText } from "./storage.ts";

const GARBAGE = [
  "",
  "nonsense",
  "{",
  "null",
  "7",
  '"x"',
  "[null]",
  "[7]",
  '{"open":[7],"read":[]}',
  '{"big":null}',
  "\u0000",
];
const NOTICE = notices.notice("void", 2, 0, "dice-damaged", 1000);

function fakeStorage(): Storage {
  const items = new Map<string, string>();
  return {
    getItem: (key: string) => items.get(key) ?? null,
    setItem: (key: string, text: string) => void items.set(key, text),
  } as Storage;
}

beforeEach(() => {
  vi.stubGlobal("localStorage", fakeStorage());
  vi.stubGlobal("sessionStorage", fakeStorage());
});
afterEach(() => void vi.unstubAllGlobals());

test("a written value is read back, and only in its own area", () => {
  write("last", { big: 100 });
  expect(read("last", isSet, {})).toEqual({ big: 100 });
  expect(read("last", isSet, {}, "session")).toEqual({});
});

test("names are prefixed, so that other pages of the host do not clash", () => {
  writeText("language", "en");
  expect(localStorage.getItem("threedice.language")).toBe("en");
});

test("a missing value is the fallback", () => {
  expect(read("missing", isText, "fallback")).toBe("fallback");
  expect(readList("missing", isText)).toEqual([]);
  expect(readText("missing")).toBeNull();
});

describe.each(GARBAGE)("the stored text %j", (text) => {
  beforeEach(() => writeText("value", text));

  test("is no set of chips and no state of notices", () => {
    expect(read("value", isSet, {})).toEqual({});
    expect(read("value", notices.isKept, notices.NONE)).toBe(notices.NONE);
  });

  test("is no list of favourites or records", () => {
    expect(readList("value", isFavourite)).toEqual([]);
    expect(readList("value", isRecord)).toEqual([]);
  });
});

test("valid items of a list are kept, and the others left out", () => {
  const valid = { name: "Mine", set: { big: 100 } };
  write("favourites", [
    { name: "x", set: { big: -1 } },
    { name: "", set: {} },
    7,
    valid,
    { name: "y", set: { big: 0.5 } },
  ]);
  expect(readList("favourites", isFavourite)).toEqual([valid]);
});

test.each([
  { ...NOTICE, what: "unheard-of" },
  { ...NOTICE, round: "2" },
  { ...NOTICE, note: undefined },
])("%j is no notice", (notice) => {
  expect(notices.isKept({ open: [notice], read: [] })).toBe(false);
  expect(notices.isKept({ open: [NOTICE], read: [] })).toBe(true);
});

test("a browser without storage reads fallbacks and ignores writes", () => {
  vi.unstubAllGlobals();
  vi.stubGlobal("localStorage", undefined);
  expect(() => write("value", 1)).not.toThrow();
  expect(read("value", isText, "fallback")).toBe("fallback");
});
