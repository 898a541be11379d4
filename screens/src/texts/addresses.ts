// Where the words of a language are fetched. The build fills it in and takes the words out of the
// code (texts_plugin.ts); in the sources they stand in the code, and nothing is fetched.

import type { Language } from "./language.svelte.ts";

export const ADDRESSES: Partial<Record<Language, string>> = {};
