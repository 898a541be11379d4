import "./styles.css";
import { mount } from "svelte";
import App from "./App.svelte";
import { followLinks } from "./lib/router.svelte.ts";
import { refresh } from "./lib/session.svelte.ts";

followLinks();
void refresh();
mount(App, { target: document.getElementById("app")! });
