import { afterEach, beforeEach, expect, test, vi } from "vitest";

const asked: string[] = [];
let status = 200;

beforeEach(() => {
  asked.length = 0;
  status = 200;
  vi.stubGlobal("location", { pathname: "/board/7", search: "", hash: "#token=tdd_secret" });
  vi.stubGlobal("history", { replaceState: (_: unknown, __: string, to: string) => asked.push(`address ${to}`) });
  vi.stubGlobal("fetch", (address: string, { method, body }: RequestInit) => {
    asked.push(`${method} ${address} ${typeof body === "string" ? body : ""}`.trim());
    return Promise.resolve(new Response('{"table":"7","label":"north wall"}', { status }));
  });
});
afterEach(() => vi.unstubAllGlobals());

test("the token of an address goes into the cookie and out of the address", async () => {
  const { takeToken } = await import("./display.ts");
  await takeToken();
  expect(asked).toEqual(['POST /api/displays/session {"token":"tdd_secret"}', "address /board/7"]);
});

test("a refused token does not stay in the address; one that got no answer does", async () => {
  const { takeToken } = await import("./display.ts");
  status = 401;
  await takeToken();
  expect(asked.at(-1)).toBe("address /board/7");
  status = 503;
  await expect(takeToken()).rejects.toThrow();
  expect(asked.at(-1)).toContain("POST");
});

test("only the address of a board asks for its display", async () => {
  const { displayAt } = await import("./display.ts");
  expect(await displayAt("/pit/7")).toBeNull();
  expect(await displayAt("/board")).toBeNull();
  expect(asked).toEqual([]);
  expect(await displayAt("/board/7")).toEqual({ table: "7", label: "north wall" });
  status = 401;
  expect(await displayAt("/board/7")).toBeNull();
});
