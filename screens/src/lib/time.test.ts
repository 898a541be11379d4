import { afterEach, expect, test, vi } from "vitest";
import { language } from "../texts/language.svelte.ts";
import { dayOf, when } from "./time.ts";

const MOMENT = Date.parse("2025-01-31T13:05:09Z") * 1000;

afterEach(() => {
  vi.unstubAllGlobals();
  language.now = "en";
});

test("times are by the browser's variant of the chosen language", () => {
  vi.stubGlobal("navigator", { languages: ["zh-TW", "en-GB", "en-US"] });
  expect(when(MOMENT)).toMatch(/^31 Jan 2025, \d\d:05:09$/);
  vi.stubGlobal("navigator", { languages: ["en-US"] });
  expect(when(MOMENT)).toMatch(/^Jan 31, 2025, \d{1,2}:05:09\s[AP]M$/);
  language.now = "zh-Hans";
  expect(when(MOMENT)).toMatch(/^2025年1月31日 \d\d:05:09$/);
});

test("a date of a jurisdiction keeps its local time, and a day has none", () => {
  vi.stubGlobal("navigator", { languages: ["en-GB"] });
  expect(dayOf("2023-10-06T08:00:00+08:00")).toBe("6 Oct 2023, 08:00");
  expect(dayOf("2008-04-25")).toBe("25 Apr 2008");
  expect(dayOf("from the first day")).toBe("from the first day");
});
