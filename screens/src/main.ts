import "./tokens.css";
import "./styles.css";
import { mount } from "svelte";
import App from "./App.svelte";
import { followLinks } from "./lib/router.svelte.ts";
import { refresh } from "./lib/session.svelte.ts";
import { beginTheme } from "./lib/theme.svelte.ts";
import { begin } from "./texts/language.svelte.ts";

beginTheme();
followLinks();
void refresh();
// Mount after the texts are loaded, so that no page shows without them.
void begin().then(() => mount(App, { target: document.getElementById("app")! }));
