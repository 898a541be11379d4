// Takes the words of other languages out of the built code: each `texts(en, hant, hans)` keeps its
// English and gets an id, and one file for each language holds what stood beside it. A screen
// fetches the file of the language that it speaks (src/texts/words.ts). Sources stay whole: from
// them, with `npm run dev` and in tests, nothing is fetched.

import { createHash } from "node:crypto";
import { globSync, readFileSync } from "node:fs";
import { relative, resolve } from "node:path";
import { parseSync, Visitor } from "vite";
import type { ESTree, Plugin } from "vite";

const SOURCES = resolve(import.meta.dirname, "src");
const ADDRESSES = resolve(SOURCES, "texts/addresses.ts");
/** The languages of the arguments after the first. */
const OTHERS = ["zh-Hant", "zh-Hans"] as const;

interface Texts {
  id: string;
  /** From where to where the other languages stand, and what they say. */
  from: number;
  to: number;
  words: Record<string, string>[];
}

export function textsOutside(): Plugin {
  const addresses: Record<string, string> = {};
  return {
    name: "texts-outside",
    apply: "build",
    enforce: "pre",
    buildStart() {
      const files = globSync("**/*.ts", { cwd: SOURCES }).map((each) => resolve(SOURCES, each));
      const all = files.sort().flatMap((file) => textsIn(file, readFileSync(file, "utf8")));
      if (new Set(all.map(({ id }) => id)).size < all.length) this.error("two texts() have one id");
      OTHERS.forEach((language, index) => {
        const source = JSON.stringify(Object.fromEntries(all.map(({ id, words }) => [id, words[index]])));
        const fileName = `assets/${language}-${hash(source, 8)}.json`;
        this.emitFile({ type: "asset", fileName, source });
        addresses[language] = `/${fileName}`;
      });
    },
    load(id) {
      return id === ADDRESSES ? `export const ADDRESSES = ${JSON.stringify(addresses)};` : null;
    },
    transform(code, id) {
      const found = id.startsWith(SOURCES) && id.endsWith(".ts") ? textsIn(id, code) : [];
      if (!found.length) return null;
      const without = found.reduceRight(
        (said, { id, from, to }) => `${said.slice(0, from)}, "${id}"${said.slice(to)}`,
        code,
      );
      return { code: without, map: null };
    },
  };
}

function textsIn(file: string, code: string): Texts[] {
  if (!code.includes("= texts(")) return [];
  const found: Texts[] = [];
  const take = (call: ESTree.CallExpression): void => {
    if (call.callee.type !== "Identifier" || call.callee.name !== "texts") return;
    const [english, ...others] = call.arguments;
    if (!english || others.length !== OTHERS.length) throw new Error(`${file}: texts() of other languages than known`);
    const id = hash(`${relative(SOURCES, file)} ${found.length}`, 4);
    found.push({
      id,
      from: english.end,
      to: others.at(-1)!.end,
      words: others.map((each) => said(code.slice(each.start, each.end))),
    });
  };
  new Visitor({ CallExpression: take }).visit(parseSync(file, code).program);
  return found;
}

/** What a dictionary says, which is nothing but strings. */
const said = (dictionary: string): Record<string, string> => new Function(`return ${dictionary}`)();

const hash = (text: string, length: number): string =>
  createHash("sha256").update(text).digest("base64url").slice(0, length);
