// Follow a table over a WebSocket: handshake, events without gaps, and resumption from the last version after a
// reconnect. A silent server counts as disconnected within two seconds; its socket is closed a little later, so
// that a slow network or a short pause does not cost a reconnect.

import type { LiveMessage } from "./schema.d.ts";
import { address } from "./client.ts";

export interface Listener {
  said(message: LiveMessage): void;
  /** Called when the connection is lost or restored. */
  heard(connected: boolean): void;
  /** Called when the server refuses or ends the connection; the session must be loaded again. */
  turnedAway(): void;
}

const PING_MS = 600;
const LOOK_MS = 150;
const SILENT_MS = 1500;
const GIVE_UP_MS = 3500;
const RETRIES_MS = [50, 250, 700, 1500, 3000];
/** Close codes of the server: too many messages, session ended, permissions changed, session locked. */
const TOO_MANY = 1008;
const ENDED = 4401;
const RIGHTS_CHANGED = 4403;
const LOCKED = 4423;

export class Live {
  /** The last version received; a reconnect resumes after it. */
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

  /** Reconnect and request a full view instead of the events after the last version. */
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

  /** Check the connection several times a second: send pings, detect silence. */
  private look(): void {
    const now = performance.now();
    const slept = now - this.lastLook > SILENT_MS;
    this.lastLook = now;
    if (!this.socket) return;
    if (slept) this.lastHeard = now; // timers stood still, so the silence proves nothing
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

  /** Reconnect at once when the device wakes up, the network returns or the page becomes visible. */
  private readonly wake = (): void => {
    if (this.closed || document.visibilityState === "hidden") return;
    if (!this.socket) this.connect();
    else this.look();
  };

  /** Report the loss at once when the browser says that it is offline. */
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

  /** Return a growing delay with jitter, so that the screens do not all reconnect at once. */
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
