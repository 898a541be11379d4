import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vite";
import { textsOutside } from "./texts_plugin.ts";

// One page whose parts are loaded as they are wanted; everything comes from the house itself, and
// nothing stands in the page that the house's content policy would refuse.
export default defineConfig({
  plugins: [textsOutside(), svelte({ compilerOptions: { runes: true } })],
  build: {
    outDir: "../src/threedice/web/screens",
    emptyOutDir: true,
    manifest: true,
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  server: {
    proxy: { "/api": { target: "http://127.0.0.1:8000", ws: true } },
  },
});
