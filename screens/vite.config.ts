import { svelte } from "@sveltejs/vite-plugin-svelte";
import type { SvelteConfig } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vitest/config";

// The modules that most pages use are one chunk: many small ones compress worse. Texts that few pages use are not in it.
const TEXTS = "texts[\\\\/](?!consequences|explanation|force|limits|meanings|rulebooks|statement)";
const LIB = "lib[\\\\/](?:clock|dice|money|numbers|time|Dialog|Die|Trouble)\\b";
const SHARED = new RegExp(`src[\\\\/](?:table[\\\\/]|${TEXTS}|${LIB})|svelte[\\\\/]src|clsx|esm-env`);

const compilerOptions: SvelteConfig["compilerOptions"] = {
  runes: true,
  cssHash: ({ hash, filename }) => `s${hash(filename).slice(0, 5)}`,
};

// One HTML page; its parts are loaded on demand, all from the server itself, and nothing is inline that the
// content security policy would refuse.
export default defineConfig({
  plugins: [svelte({ compilerOptions })],
  build: {
    outDir: "../src/threedice/api/screens",
    emptyOutDir: true,
    manifest: true,
    target: "es2022",
    // Browsers that resolve light-dark() where a colour is used; translated, it would be resolved for the whole page.
    cssTarget: ["chrome123", "firefox120", "safari17.5"],
    assetsInlineLimit: 0,
    // One style sheet for all pages, and no preload lists in the scripts.
    modulePreload: false,
    cssCodeSplit: false,
    reportCompressedSize: false,
    rolldownOptions: {
      optimization: { inlineConst: { mode: "all", pass: 3 } },
      output: { codeSplitting: { groups: [{ name: "shared", test: SHARED }] } },
    },
  },
  test: {
    // Tests read the style sheets; by default Vitest replaces them with nothing.
    css: true,
    include: ["src/**/*.test.ts"],
    setupFiles: ["src/texts/english.test-setup.ts"],
    // The tests leave nothing behind, so that one worker can run all files: starting more takes longer.
    isolate: false,
    maxWorkers: 1,
  },
  server: {
    proxy: { "/api": { target: "http://127.0.0.1:8000", ws: true } },
  },
});
