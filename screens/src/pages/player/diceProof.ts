// Verify dice that the house dealt, from the proof that the server sends: a second implementation of
// `house/dealer/sealed_dice.py` and of the hash chain in `log/entry.py`, with Web Crypto. A test compares the two.

import type { DiceProof, LinkedEntry } from "../../api/schema.d.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** The steps of the verification, in order. */
export const STEPS = ["commitment", "chain", "close", "draw"] as const;
export type Step = (typeof STEPS)[number];

export interface Verification {
  /** Whether each step holds. */
  readonly holds: Readonly<Record<Step, boolean>>;
  /** The hash of the entry that closed betting, as computed here. */
  readonly head: string;
  /** The dice drawn here from the seed and the head. */
  readonly drawn: readonly number[];
  /** The number of the reader's own bets in the chain. */
  readonly ownBets: number;
}

/** Whether this browser can compute hashes: only on a secure address, or on this computer itself. */
export const canVerify = (): boolean => !!globalThis.crypto?.subtle;

const HOUSE = "house";
const CLOSE_BETTING = `{"type":"CloseBetting","by":{"id":"${HOUSE}","role":"dealer"}}`;
const REJECTION_LIMIT = 252;
const US_PER_SECOND = 1_000_000;

/** Verify the dice of a round; `seen` is the commitment that the page showed before the bets, if it did. */
export async function verifyDice(proof: DiceProof, player: string, seen = ""): Promise<Verification> {
  const { links, seed } = proof;
  const entries = links.flatMap(({ entry }) => (entry ? [entry] : []));
  const committed = field(entries[0], "SeedCommitted", "commitment");
  const sealed = seed === null ? "" : hex(await sha256(bytesOf(seed)));
  const { intact, head } = await recomputed(proof);
  const drawn = seed === null ? [] : await draw(bytesOf(seed), bytesOf(head));
  return {
    holds: {
      commitment: !!sealed && sealed === committed && (!seen || seen === committed),
      chain: intact && entries[0]?.kind === "SeedCommitted" && entries.at(-1)?.kind === "BettingClosed",
      close: await isPunctual(proof),
      draw: drawn.length === 3 && drawn.join() === proof.dice?.join(),
    },
    head,
    drawn,
    ownBets: entries.filter((entry) => field(entry, "BetPlaced", "player") === player).length,
  };
}

/** Recompute the hash of every link whose entry is known; return the hash of the last. */
async function recomputed(proof: DiceProof): Promise<{ intact: boolean; head: string }> {
  let previous = proof.previous;
  let version = proof.links[0]?.version ?? 0;
  let intact = proof.links.length > 0;
  for (const link of proof.links) {
    const found = link.entry ? hex(await hashEntry(previous, proof.stream, link.version, link.at, link.entry)) : null;
    intact &&= link.version === version && (found === null || found === link.hash);
    previous = found ?? link.hash;
    version += 1;
  }
  return { intact, head: previous };
}

/** Return the hash of an entry: its columns and the previous hash, numbers in big-endian order. */
async function hashEntry(
  previous: string,
  stream: string,
  version: number,
  at: number,
  { kind, schema, data, cause }: LinkedEntry,
): Promise<Bytes> {
  const [streamBytes, kindBytes, dataBytes] = [encoded(stream), encoded(kind), encoded(data)];
  const columns = new DataView(new ArrayBuffer(90));
  new Uint8Array(columns.buffer).set(bytesOf(previous), 0);
  columns.setUint16(32, streamBytes.length);
  columns.setBigUint64(34, BigInt(version));
  columns.setBigInt64(42, BigInt(at));
  columns.setUint16(50, kindBytes.length);
  columns.setUint16(52, schema);
  columns.setUint32(54, dataBytes.length);
  new Uint8Array(columns.buffer).set(bytesOf(cause), 58);
  return sha256(joined(new Uint8Array(columns.buffer), streamBytes, kindBytes, dataBytes));
}

/**
 * Whether betting closed at the prescribed time, with the prescribed key and command. The hash of that entry decides
 * the dice: a house that could choose its time or key could try values until it liked the dice.
 */
async function isPunctual({ stream, round, betting_seconds, links }: DiceProof): Promise<boolean> {
  const [opened, before, close] = [
    links.find((link) => link.entry?.kind === "BettingOpened"),
    links.at(-2),
    links.at(-1),
  ];
  if (!opened || !before || close?.entry?.kind !== "BettingClosed") return false;
  const due = opened.at + Math.round(betting_seconds * US_PER_SECOND);
  const table = stream.slice("table/".length);
  const command = await sha256(joined(encoded(table), new Uint8Array(1), encoded(CLOSE_BETTING)));
  const key = encoded(`${table} round ${round} CloseBetting`);
  const cause = await sha256(joined(encoded(`${HOUSE.length}:${HOUSE}${key.length}:`), key, command));
  return close.at === Math.max(due, before.at) && close.entry.cause === hex(cause);
}

/** Draw three faces without bias from HMAC-SHA256 of the head under the seed. */
async function draw(seed: Bytes, head: Bytes): Promise<number[]> {
  const key = await crypto.subtle.importKey("raw", seed, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  const faces: number[] = [];
  for (let block = 0; faces.length < 3; block++) {
    const number = new Uint8Array(4);
    new DataView(number.buffer).setUint32(0, block);
    const digest = new Uint8Array(await crypto.subtle.sign("HMAC", key, joined(head, number)));
    for (const byte of digest) if (byte < REJECTION_LIMIT) faces.push(1 + (byte % 6));
  }
  return faces.slice(0, 3);
}

/** Return a text of an entry's event, or "" if the entry is of another kind. */
function field(entry: LinkedEntry | undefined, kind: string, name: string): string {
  if (entry?.kind !== kind) return "";
  return String((JSON.parse(entry.data) as Record<string, unknown>)[name] ?? "");
}

const sha256 = async (bytes: Bytes): Promise<Bytes> => new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));

const encoded = (text: string): Bytes => new TextEncoder().encode(text) as Bytes;

const bytesOf = (text: string): Bytes => Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));

const hex = (bytes: Bytes): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

function joined(...parts: readonly Bytes[]): Bytes {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
