import { svelte } from "@sveltejs/vite-plugin-svelte";
import type { SvelteConfig } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vitest/config";
import { textsOutside } from "./texts_plugin.ts";

// What every page uses is one file: many small ones compress worse than a large one.
const SHARED =
  /src[\\/]table[\\/]|svelte[\\/]src|clsx|esm-env|src[\\/]texts[\\/](boxes|common|language|paying|phases|texts|words)|src[\\/]lib[\\/](clock|dice|money|time|Dialog|Die|Trouble)\b/;

const compilerOptions: SvelteConfig["compilerOptions"] = {
  runes: true,
  cssHash: ({ hash, filename }) => `s${hash(filename).slice(0, 5)}`,
};

// One page whose parts are loaded as they are wanted; everything comes from the house itself, and
// nothing stands in the page that the house's content policy would refuse.
export default defineConfig({
  plugins: [textsOutside(), svelte({ compilerOptions })],
  build: {
    outDir: "../src/threedice/api/screens",
    emptyOutDir: true,
    manifest: true,
    target: "es2022",
    assetsInlineLimit: 0,
    // One file of styles for all pages, and no lists of what to load beforehand in every script.
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
  },
  server: {
    proxy: { "/api": { target: "http://127.0.0.1:8000", ws: true } },
  },
});
