// Hold the theme of the screens: that of the device, or the user's choice, which the browser remembers.

import { readText, writeText } from "./storage.ts";

export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

const STORED_AS = "theme";

export const theme = $state<{ now: Theme }>({ now: "system" });

/** Apply the stored theme; any other text counts as that of the device. */
export function beginTheme(): void {
  const stored = readText(STORED_AS);
  apply(THEMES.find((each) => each === stored) ?? "system");
}

/** Change to the next theme, and remember it. */
export function nextTheme(): void {
  apply(THEMES[(THEMES.indexOf(theme.now) + 1) % THEMES.length]!);
  writeText(STORED_AS, theme.now);
}

function apply(chosen: Theme): void {
  theme.now = chosen;
  if (chosen === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = chosen;
}
