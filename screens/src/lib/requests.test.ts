import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { SessionView } from "../api/schema.d.ts";
import { said } from "./announcer.svelte.ts";

vi.stubGlobal("location", { pathname: "/", search: "", hash: "" }); // which the session's modules read when imported
const { lookAtVariances, waiting, watchRequests } = await import("./requests.svelte.ts");
const { session } = await import("./session.svelte.ts");

const REQUEST = { id: "r1", table: "7", name: "ann", may_decide: true };
const NOTICE = { table: "7", slip: 4 };

/** What the server answers by path; an answer that is undefined fails. */
let answers: Record<string, unknown>;
const json = (content: unknown) => new Response(JSON.stringify(content), { status: content ? 200 : 500 });

beforeEach(() => {
  vi.stubGlobal("document", { visibilityState: "visible" });
  vi.stubGlobal("fetch", async (path: string) => json(answers[path]));
  session.who = { roles: ["supervisor"], tables: null } as unknown as SessionView;
});

afterEach(() => {
  session.who = null;
  vi.unstubAllGlobals();
});

test("requests are polled when the variances cannot be loaded", async () => {
  answers = { "/api/requests": [REQUEST] };
  said.polite = "";
  const stop = watchRequests();
  await vi.waitFor(() => expect(waiting.requests).toEqual([REQUEST]));
  expect(said.polite).toBe(""); // the request was there before the page
  stop();
  expect(waiting.requests).toEqual([]);
});

test("an answer that was asked for before an acknowledgement does not bring its variance back", async () => {
  let answer: (response: Response) => void = () => undefined;
  vi.stubGlobal("fetch", () => new Promise<Response>((done) => (answer = done)));
  const poll = lookAtVariances();
  const answerPoll = answer;
  const look = lookAtVariances();
  answer(json([]));
  await look;
  answerPoll(json([NOTICE]));
  await poll;
  expect(waiting.variances).toEqual([]);
});

test("an answer that arrives after the last watcher has left is not shown", async () => {
  answers = { "/api/variances": [NOTICE], "/api/requests": [] };
  const look = lookAtVariances();
  watchRequests()();
  await look;
  expect(waiting.variances).toEqual([]);
});
