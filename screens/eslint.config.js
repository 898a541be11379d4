import js from "@eslint/js";
import svelte from "eslint-plugin-svelte";
import { defineConfig, globalIgnores } from "eslint/config";
import globals from "globals";
import typescript from "typescript-eslint";
import svelteConfig from "./svelte.config.js";

export default defineConfig(
  // openapi-typescript writes this file.
  globalIgnores(["src/api/schema.d.ts"]),
  js.configs.recommended,
  typescript.configs.recommended,
  svelte.configs.recommended,
  {
    files: ["src/**"],
    languageOptions: { globals: globals.browser },
  },
  {
    rules: {
      // `const { [key]: _, ...others } = all` is how the folds copy an object without one key.
      "@typescript-eslint/no-unused-vars": ["error", { ignoreRestSiblings: true }],
      // Maps and sets are working values of one function, or replaced as a whole in `$state.raw`: none is
      // changed while a component shows it, and reactive ones would only cost time.
      "svelte/prefer-svelte-reactivity": "off",
    },
  },
  {
    files: ["**/*.svelte", "**/*.svelte.ts"],
    languageOptions: { parserOptions: { parser: typescript.parser, svelteConfig } },
  },
);
