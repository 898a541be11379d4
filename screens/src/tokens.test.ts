import { expect, test } from "vitest";

const sources: Record<string, string> = import.meta.glob(["./**/*.svelte", "./**/*.css"], {
  query: "?raw",
  import: "default",
  eager: true,
});
const { "./tokens.css": tokens = "", ...components } = sources;

const BREAKPOINTS = ["768px", "1000px", "1001px", "1200px", "1201px", "1400px"];

function findings(pattern: RegExp, allowed: string[] = []): string[] {
  return Object.entries(components).flatMap(([file, text]) =>
    [...text.matchAll(pattern)]
      .filter(([, value]) => !allowed.includes(value ?? ""))
      .map(([found]) => `${file}: ${found}`),
  );
}

test("components are found", () => {
  expect(Object.keys(components).length).toBeGreaterThan(100);
});

test("no component has a literal colour", () => {
  const literal = /(?:: |="|\(|, )(#[0-9a-f]{3,8}\b|(?:rgb|hsl)a?\([^)]*\)|white\b(?=[;"])|black\b(?=[;"]))/gi;

  expect(findings(literal)).toEqual([]);
});

test("media queries use only the breakpoints of the tokens", () => {
  expect(findings(/(?:min|max)-width: ([\d.]+(?:px|rem))\)/g, BREAKPOINTS)).toEqual([]);
});

test("distances between elements are tokens", () => {
  expect(findings(/(?:gap|padding|margin)[a-z-]*: (?:[^;{}]* )?((?:0\.[2-9]\d*|[12])rem)/g)).toEqual([]);
});

test("only Note has the grounds of messages", () => {
  const { "./lib/Note.svelte": _, ...others } = components;

  expect(Object.keys(others).filter((file) => /var\(--(bad|warn|info)-ground\)/.test(others[file]!))).toEqual([]);
});

test("labels come from Field and Choice, except those of pictures", () => {
  const files = Object.keys(components).filter((file) => /<label\b/.test(components[file]!));

  expect(files).toEqual([
    "./lib/Choice.svelte",
    "./lib/Field.svelte",
    "./pages/odds/Mixing.svelte",
    "./pages/odds/TryRoll.svelte",
  ]);
});

test("only Dialog opens a dialog", () => {
  expect(Object.keys(components).filter((file) => /<dialog\b|dialog \{/.test(components[file]!))).toEqual([
    "./lib/Dialog.svelte",
  ]);
});

test("every token is used", () => {
  const names = [...tokens.matchAll(/^ {2}(--[\w-]+):/gm)].map(([, name]) => name);
  const used = Object.values(import.meta.glob("./**/*.ts", { query: "?raw", import: "default", eager: true }));
  const everything = [...Object.values(components), ...used].join("\n");

  expect(new Set(names).size).toBeGreaterThan(50);
  expect(names.filter((name) => !everything.includes(`var(${name})`))).toEqual([]);
});
