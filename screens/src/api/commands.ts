// Send commands with an idempotency key until the server has accepted or refused them. After a lost connection,
// look the outcome up by its key and repeat the command with the same key. Store unanswered commands for this
// tab, so that a reloaded page can show their outcome.

import { get, post, Trouble } from "./client.ts";
import type { Body } from "./client.ts";
import type { CommandResultView, CommandStatusView, TableView } from "./schema.d.ts";
import { session } from "../lib/session.svelte.ts";
import { isRecord, isText, readList, write } from "../lib/storage.ts";

export type TableCommand = Body<"/api/tables/{table}/commands", "post">;
export type AccountCommand = Body<"/api/accounts/{player}/commands", "post">;

const WAITS_MS = [300, 700, 1500, 3000, 5000];
/** The request timeout, after which the outcome is looked up. */
const PATIENCE_MS = 5000;

/**
 * Send a command to a table; the promise settles only when the server has accepted or refused it. The server refuses a
 * bet that names another `round` than the current one, however late it arrives.
 */
export function command(table: string, what: TableCommand, key = newKey()): Promise<CommandResultView> {
  const send = (headers: Record<string, string>) =>
    post("/api/tables/{table}/commands", what, { at: { table }, headers, patienceMs: PATIENCE_MS });
  const ask = (reason: string) =>
    post("/api/tables/{table}/requests", { command: what as RequestedCommand, reason }, { at: { table } });
  return settled({ key, account: session.who?.account ?? "", table, what }, send).catch(orAsk(what, ask));
}

/** Name the round of a view in a bet or its withdrawal, which is refused in any other. */
export const inRound = (view: TableView): { round?: number } => (view.round ? { round: view.round.number } : {});

/** A command that can be requested: it names no second person. */
export type RequestedCommand = Body<"/api/tables/{table}/requests", "post">["command"];

type Ask = (reason: string) => Promise<unknown>;

/** Thrown if a second person has to approve the command; `ask` opens the request. */
export class ApprovalNeeded extends Trouble {
  /** The reason that the command states, if it has one. */
  readonly reason: string;
  readonly ask: Ask;

  constructor(trouble: Trouble, command: object, ask: Ask) {
    super(trouble.status, {
      code: trouble.code,
      detail: trouble.message,
      clause: [...trouble.clause],
      facts: { ...trouble.facts } as Record<string, never>,
    });
    this.reason = "reason" in command && isText(command.reason) ? command.reason : "";
    this.ask = ask;
  }
}

/** The refusals of the house and of the table to let one person act alone. */
const SECOND_PERSON = ["door/second-person", "role/second-person", "debt/held"];

const orAsk = (command: object, ask: Ask) => (error: unknown) => {
  if (!(error instanceof Trouble) || !SECOND_PERSON.includes(error.code)) throw error;
  throw new ApprovalNeeded(error, command, ask);
};

/** Send a command about a player's account. */
export function accountCommand(player: string, what: AccountCommand, key = newKey()): Promise<CommandResultView> {
  const send = (headers: Record<string, string>) =>
    post("/api/accounts/{player}/commands", what, { at: { player }, headers, patienceMs: PATIENCE_MS });
  const ask = (reason: string) =>
    post("/api/accounts/{player}/requests", { command: what as RequestedCommand, reason }, { at: { player } });
  return settled({ key, account: session.who?.account ?? "", table: "", what }, send).catch(orAsk(what, ask));
}

type Send = (headers: Record<string, string>) => Promise<unknown>;

async function settled(sent: PendingCommand, send: Send): Promise<CommandResultView> {
  remember(sent);
  sentFromThisPage.add(sent.key);
  try {
    return await sentUntilAnswered(sent.key, send);
  } finally {
    sentFromThisPage.delete(sent.key);
    forget(sent.key);
  }
}

async function sentUntilAnswered(key: string, send: Send): Promise<CommandResultView> {
  for (let attempt = 0; ; attempt++) {
    try {
      return (await send({ "Idempotency-Key": key })) as CommandResultView;
    } catch (error) {
      if (!(error instanceof Trouble) || !mayHelpAgain(error)) throw error;
    }
    await pause(WAITS_MS[Math.min(attempt, WAITS_MS.length - 1)]!);
    const { answer, problem } = await outcomeOf(key);
    if (answer) return answer;
    if (problem) throw new Trouble(problem.status, problem);
  }
}

/**
 * Whether a retry can succeed. A suspended or damaged server refuses until a person intervenes, so retrying is
 * useless.
 */
function mayHelpAgain(trouble: Trouble): boolean {
  if (trouble.code === "house/suspended" || trouble.code === "house/damaged") return false;
  return trouble.isUnsettled || trouble.status === 429;
}

export function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

const pause = (ms: number) => new Promise((done) => setTimeout(done, ms));

// --- unanswered commands, stored for this tab ------------------------------------------------------

interface PendingCommand {
  readonly key: string;
  /** The sender's account: keys are unique per account. */
  readonly account: string;
  readonly table: string;
  readonly what: unknown;
}

const STORED_AS = "underway";
/** The server's format of idempotency keys. */
const KEY = /^[\w.-]{1,100}$/;
const MAX_STORED = 200;

const sentFromThisPage = new Set<string>();

/** Return the commands that an earlier page of this tab left unanswered at a table, with their outcomes. */
export async function abandonedCommands(
  account: string,
  table: string,
): Promise<(PendingCommand & { outcome: CommandStatusView })[]> {
  const abandoned = [];
  for (const each of stored()) {
    if (each.account !== account || each.table !== table || sentFromThisPage.has(each.key)) continue;
    abandoned.push({ ...each, outcome: await outcomeOf(each.key) });
    forget(each.key);
  }
  return abandoned;
}

/** Poll until the server reports whether a command was accepted or refused, or that it does not know. */
async function outcomeOf(key: string): Promise<CommandStatusView> {
  for (;;) {
    try {
      return await get("/api/commands/{key}", { at: { key }, background: true });
    } catch (error) {
      if (!(error instanceof Trouble) || !(error.isUnsettled || error.status === 429)) throw error;
      await pause(1000);
    }
  }
}

function remember(sent: PendingCommand): void {
  store([...stored().filter((each) => each.key !== sent.key), sent].slice(-MAX_STORED));
}

function forget(key: string): void {
  const others = stored().filter((each) => each.key !== key);
  if (others.length !== stored().length) store(others);
}

function stored(): PendingCommand[] {
  return readList(STORED_AS, isPending, "session");
}

function store(commands: readonly PendingCommand[]): void {
  write(STORED_AS, commands, "session");
}

function isPending(value: unknown): value is PendingCommand {
  if (!isRecord(value)) return false;
  const { key, account, table, what } = value;
  return isText(key) && KEY.test(key) && isText(account) && isText(table) && isRecord(what);
}
