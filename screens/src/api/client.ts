// Send HTTP requests to the server, typed by its OpenAPI document; throw problem responses as `Trouble`. All
// pages use this module.

import type { paths, Problem } from "./schema.d.ts";
import { language } from "../texts/language.svelte.ts";
import { t } from "../texts/texts.ts";

type Method = "get" | "post" | "put" | "delete";
type With<M extends Method> = {
  [P in keyof paths]: paths[P] extends Record<M, { responses: unknown }> ? P : never;
}[keyof paths];
type Operation<P extends keyof paths, M extends Method> = paths[P][M & keyof paths[P]];
type Content<T> = T extends { content: { "application/json": infer B } } ? B : undefined;
export type Answer<P extends keyof paths, M extends Method> =
  Operation<P, M> extends { responses: infer R } ? Content<R[keyof R & (200 | 201 | 204)]> : never;
export type Body<P extends keyof paths, M extends Method> =
  Operation<P, M> extends { requestBody: infer B } ? Content<NonNullable<B>> : undefined;

export interface Asked {
  /** The path parameters, by name. */
  at?: Record<string, string | number>;
  query?: Record<string, string | number | undefined>;
  headers?: Record<string, string>;
  /** Mark a request that no user action caused, such as a poll, so that it does not keep an idle session alive. */
  background?: boolean;
  signal?: AbortSignal;
  /** The request timeout. */
  patienceMs?: number;
}

/** A problem response or a network failure; `status` is 0 if there was no response. */
export class Trouble extends Error {
  readonly status: number;
  readonly code: string;
  readonly clause: readonly string[];
  readonly facts: Readonly<Record<string, unknown>>;

  constructor(status: number, problem: Partial<Problem>) {
    super(problem.detail || problem.title || problem.code || `HTTP ${status}`);
    this.status = status;
    this.code = problem.code ?? "network/away";
    this.clause = problem.clause ?? [];
    this.facts = problem.facts ?? {};
  }

  /** Whether the outcome is unknown: no response, or one that asks for a retry. */
  get isUnsettled(): boolean {
    return this.status === 0 || this.status >= 500 || this.status === 408;
  }
}

/** Callback for responses that say that the session has ended or does not suffice. */
export const onTurnedAway: { call: (trouble: Trouble) => void } = { call: () => {} };

export const get = <P extends With<"get">>(path: P, asked: Asked = {}): Promise<Answer<P, "get">> =>
  ask("GET", path, undefined, asked) as Promise<Answer<P, "get">>;

export const post = <P extends With<"post">>(path: P, body?: Body<P, "post">, asked: Asked = {}) =>
  ask("POST", path, body, asked) as Promise<Answer<P, "post">>;

export const put = <P extends With<"put">>(path: P, body?: Body<P, "put">, asked: Asked = {}) =>
  ask("PUT", path, body, asked) as Promise<Answer<P, "put">>;

export const remove = <P extends With<"delete">>(path: P, asked: Asked = {}) =>
  ask("DELETE", path, undefined, asked) as Promise<Answer<P, "delete">>;

async function ask(method: string, path: string, body: unknown, asked: Asked): Promise<unknown> {
  const headers: Record<string, string> = { "Accept-Language": language.now, ...asked.headers };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (asked.background) headers["Threedice-Background"] = "1";
  let response: Response;
  try {
    response = await fetch(address(path, asked), {
      method,
      headers,
      body: body === undefined ? null : JSON.stringify(body),
      credentials: "same-origin",
      signal: asked.signal ?? AbortSignal.timeout(asked.patienceMs ?? 15_000),
    });
  } catch (error) {
    if (asked.signal?.aborted) throw error;
    throw new Trouble(0, { title: t("common.away") });
  }
  if (response.ok) return response.status === 204 ? undefined : await response.json();
  throw await troubleOf(response);
}

async function troubleOf(response: Response): Promise<Trouble> {
  let problem: Partial<Problem> = { title: `HTTP ${response.status}` };
  try {
    problem = (await response.json()) as Problem;
  } catch {
    // The body is not JSON: a proxy answered instead of the server.
  }
  const trouble = new Trouble(response.status, problem);
  if (response.status === 401 || STANDINGS.has(trouble.code)) onTurnedAway.call(trouble);
  return trouble;
}

const STANDINGS = new Set(["door/locked", "door/new-password", "door/enrolment"]);

/** Fill the path parameters and append the query. */
export function address(path: string, asked: Asked = {}): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const part = asked.at?.[name];
    if (part === undefined) throw new Error(`${path} needs ${name}`);
    return encodeURIComponent(part);
  });
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(asked.query ?? {}))
    if (value !== undefined) query.set(name, String(value));
  return query.size ? `${filled}?${query}` : filled;
}
