import { svelte } from "@sveltejs/vite-plugin-svelte";
import type { SvelteConfig } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vite";
import type { Plugin } from "vite";
import { textsOutside } from "./texts_plugin.ts";

// What every page uses is one file: many small ones compress worse than a large one.
const SHARED = /src[\\/]table[\\/]|svelte[\\/]src|clsx|esm-env|src[\\/]texts[\\/](boxes|common|language|paying|phases|texts|words)|src[\\/]lib[\\/](clock|dice|money|time|Dialog|Die|Trouble)\b/;

// Svelte can take over a page that a server has drawn. These screens are never drawn by the house:
// told so, the build leaves out all that is for it, some 1,200 bytes.
function neverHydrated(): Plugin {
  return {
    name: "never-hydrated",
    apply: "build",
    enforce: "pre",
    transform(code, id) {
      if (!/svelte[\\/]src[\\/]internal[\\/]client[\\/]dom[\\/]hydration\.js$/.test(id)) return null;
      const never = code.replace("export let hydrating = false", "export const hydrating = false").replace("\thydrating = value;\n", "");
      if (never.length !== code.length + 2 - "\thydrating = value;\n".length) this.error("Svelte hydrates in another way now");
      return { code: never, map: null };
    },
  };
}

const compilerOptions: SvelteConfig["compilerOptions"] = {
  runes: true,
  cssHash: ({ hash, filename }) => `s${hash(filename).slice(0, 5)}`,
};

// One page whose parts are loaded as they are wanted; everything comes from the house itself, and
// nothing stands in the page that the house's content policy would refuse.
export default defineConfig({
  plugins: [textsOutside(), neverHydrated(), svelte({ compilerOptions })],
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
  server: {
    proxy: { "/api": { target: "http://127.0.0.1:8000", ws: true } },
  },
});
