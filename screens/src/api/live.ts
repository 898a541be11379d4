// Following a table: hello, events without a gap, and back from where we were after a cut. A house
// that is silent is said to be away before two seconds are over; its socket is given up a little
// later, so that a slow line or a short pause costs nothing.

import type { LiveMessage } from "./schema.d.ts";
import { address } from "./client.ts";

export interface Listener {
  said(message: LiveMessage): void;
  /** Whether the house is heard right now. */
  heard(connected: boolean): void;
  /** The house would not have us, or no more: who is signed in has to be asked anew. */
  turnedAway(): void;
}

const PING_MS = 600;
const LOOK_MS = 150;
const SILENT_MS = 1500;
const GIVE_UP_MS = 3500;
const RETRIES_MS = [50, 250, 700, 1500, 3000];
/** After which the house has closed by itself: too many messages, or what we may see has changed. */
const TOO_MANY = 1008;
const ENDED = 4401;
const RIGHTS_CHANGED = 4403;
const LOCKED = 4423;

export class Live {
  /** The last version that was heard; a table is followed from there after a cut. */
  version: number | null = null;
  readonly table: string;
  private readonly listener: Listener;
  private socket: WebSocket | null = null;
  private wasOpen = false;
  private connected = false;
  private closed = false;
  private tries = 0;
  private lastHeard = 0;
  private lastPing = 0;
  private lastLook = 0;
  private looking: ReturnType<typeof setInterval> | undefined;
  private returning: ReturnType<typeof setTimeout> | undefined;

  constructor(table: string, listener: Listener) {
    this.table = table;
    this.listener = listener;
  }

  open(): void {
    this.connect();
    this.lastLook = performance.now();
    this.looking = setInterval(() => this.look(), LOOK_MS);
    for (const [target, name] of WAKING) target.addEventListener(name, this.wake);
    addEventListener("offline", this.fall);
  }

  close(): void {
    this.closed = true;
    clearInterval(this.looking);
    clearTimeout(this.returning);
    for (const [target, name] of WAKING) target.removeEventListener(name, this.wake);
    removeEventListener("offline", this.fall);
    this.socket?.close();
    this.socket = null;
  }

  /** Take the table as it is now, instead of what follows the version that we have. */
  startOver(): void {
    this.version = null;
    this.drop(0);
  }

  private connect(): void {
    clearTimeout(this.returning);
    const after = this.version === null ? {} : { query: { after: this.version } };
    const path = address("/api/tables/{table}/live", { at: { table: this.table }, ...after });
    const socket = new WebSocket(new URL(path, location.href.replace(/^http/, "ws")));
    this.socket = socket;
    this.wasOpen = false;
    this.lastHeard = performance.now();
    socket.onmessage = (event) => socket === this.socket && this.hear(String(event.data));
    socket.onclose = (event) => socket === this.socket && this.lost(event.code);
  }

  private hear(text: string): void {
    const message = JSON.parse(text) as LiveMessage;
    this.lastHeard = performance.now();
    if (message.type === "hello") {
      this.wasOpen = true;
      this.tries = 0;
    }
    if (this.wasOpen) this.tell(true);
    this.listener.said(message);
  }

  /** Several times a second: keep the line alive, and see whether it still is. */
  private look(): void {
    const now = performance.now();
    const slept = now - this.lastLook > SILENT_MS;
    this.lastLook = now;
    if (!this.socket) return;
    if (slept) this.lastHeard = now; // nobody can tell what was said meanwhile
    if (slept || now - this.lastPing >= PING_MS) this.ping(now);
    const silence = now - this.lastHeard;
    if (silence > SILENT_MS) this.tell(false);
    if (silence > GIVE_UP_MS) this.drop(this.pause());
  }

  private ping(now: number): void {
    if (this.socket?.readyState !== WebSocket.OPEN || !this.wasOpen) return;
    this.lastPing = now;
    this.socket.send('{"type":"ping","echo":""}');
  }

  /** The lid is open again, the network is back, somebody looks: do not wait for the next try. */
  private readonly wake = (): void => {
    if (this.closed || document.visibilityState === "hidden") return;
    if (!this.socket) this.connect();
    else this.look();
  };

  /** The machine itself says that there is no network: no need to wait until it is silent. */
  private readonly fall = (): void => {
    if (!this.closed) this.tell(false);
  };

  private lost(code: number): void {
    const refused = !this.wasOpen || code === ENDED || code === LOCKED || code === RIGHTS_CHANGED;
    if (code === RIGHTS_CHANGED || code === ENDED) this.version = null;
    this.drop(code === TOO_MANY ? 5000 : this.pause());
    if (refused) this.listener.turnedAway();
  }

  private drop(pause: number): void {
    const socket = this.socket;
    this.socket = null;
    socket?.close();
    if (this.closed) return;
    this.tell(false);
    clearTimeout(this.returning);
    this.returning = setTimeout(() => this.connect(), pause);
  }

  /** Longer and longer, and not all screens of a house at once. */
  private pause(): number {
    const most = RETRIES_MS[Math.min(this.tries++, RETRIES_MS.length - 1)]!;
    return most * (0.5 + Math.random() / 2);
  }

  private tell(connected: boolean): void {
    if (connected === this.connected) return;
    this.connected = connected;
    this.listener.heard(connected);
  }
}

const WAKING: readonly [EventTarget, string][] = [
  [document, "visibilitychange"],
  [window, "online"],
  [window, "pageshow"],
];
