import { describe, expect, test } from "vitest";
import { entries, LANGUAGES } from "./catalogues.ts";
import en from "./en.json";
import hans from "./zh-Hans.json";
import hant from "./zh-Hant.json";
import { NOT_TRIPLE, OR, PHRASES } from "./meanings.ts";

const SOURCES = import.meta.glob<string>(["../**/*.{ts,svelte}", "!**/*.{test,d}.ts"], {
  query: "?raw",
  import: "default",
  eager: true,
});
const english = new Map(entries(en));
const translations = { "zh-Hant": new Map(entries(hant)), "zh-Hans": new Map(entries(hans)) };

describe.each(Object.entries(translations))("%s", (_language, translation) => {
  test("has every key of the English catalogue, in the same order, and no other", () => {
    expect([...translation.keys()]).toEqual([...english.keys()]);
  });

  test("has no empty text", () => {
    expect([...translation].filter(([, text]) => !text.trim())).toEqual([]);
  });

  test("has the placeholders of the English text in every text", () => {
    const differing = [...translation].filter(
      ([key, text]) => placeholders(text).join() !== placeholders(english.get(key)!).join(),
    );
    expect(differing).toEqual([]);
  });
});

test("every language has a catalogue", () => {
  expect(["en", ...Object.keys(translations)]).toEqual([...LANGUAGES]);
});

test("every key of the catalogue is used in the code", () => {
  const used = usedKeys();
  expect([...english.keys()].filter((key) => !used.some((pattern) => pattern.test(key)))).toEqual([]);
});

test("the phrases that are translated are those of the English catalogue", () => {
  expect(en.box.meaning).toMatchObject({ ...PHRASES, or: OR, "not-triple": NOT_TRIPLE });
});

function placeholders(text: string): string[] {
  return [...new Set(text.match(/\{\w+\}/g))].sort();
}

/** The keys in the code: quoted, or as a template such as `dealer.step.${name}`, which covers a group. */
function usedKeys(): RegExp[] {
  const code = Object.values(SOURCES).join("\n");
  const groups = Object.keys(en).join("|");
  const found = code.matchAll(new RegExp(`"((?:${groups})\\.[^"]+)"|\`((?:${groups})\\.[^\`]+)\``, "g"));
  return [...found].map(([, key, template]) => pattern(key ?? template!));
}

function pattern(key: string): RegExp {
  const parts = key.split(/\$\{[^}]*\}/).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join("[^.]+")}$`);
}
