// Following a table: hello, events without a gap, and back from where we were after a cut.

import type { LiveMessage } from "./schema.d.ts";
import { address } from "./client.ts";

export interface Listener {
  said(message: LiveMessage): void;
  /** Whether the house is heard right now. */
  heard(connected: boolean): void;
}

const PING_MS = 1000;
const SILENCE_MS = 1900;
const RETRIES_MS = [100, 400, 1000, 2000];
/** Codes after which coming back by oneself makes no sense: one has to sign in. */
const TURNED_AWAY = 1008;

export class Live {
  private socket: WebSocket | null = null;
  private pinging = 0;
  private returning = 0;
  private tries = 0;
  private lastHeard = 0;
  private closed = false;
  readonly table: string;
  private readonly listener: Listener;
  /** The version that the screen has; a table is followed from there. */
  version: number | null = null;

  constructor(table: string, listener: Listener) {
    this.table = table;
    this.listener = listener;
  }

  open(): void {
    const after = this.version === null ? {} : { query: { after: this.version } };
    const path = address("/api/tables/{table}/live", { at: { table: this.table }, ...after });
    const socket = new WebSocket(new URL(path, location.href.replace(/^http/, "ws")));
    this.socket = socket;
    this.lastHeard = performance.now();
    socket.onmessage = (event) => this.hear(socket, String(event.data));
    socket.onclose = (event) => this.lost(socket, event.code);
    clearInterval(this.pinging);
    this.pinging = setInterval(() => this.ping(socket), PING_MS) as unknown as number;
  }

  close(): void {
    this.closed = true;
    clearTimeout(this.returning);
    clearInterval(this.pinging);
    this.socket?.close();
  }

  private hear(socket: WebSocket, text: string): void {
    if (socket !== this.socket) return;
    const message = JSON.parse(text) as LiveMessage;
    this.lastHeard = performance.now();
    if (message.type === "hello") {
      this.tries = 0;
      this.listener.heard(true);
    }
    this.listener.said(message);
  }

  private ping(socket: WebSocket): void {
    if (socket !== this.socket) return;
    if (performance.now() - this.lastHeard > SILENCE_MS) {
      this.lost(socket, 0);
      socket.close();
    } else if (socket.readyState === WebSocket.OPEN) {
      socket.send(JSON.stringify({ type: "ping", echo: "" }));
    }
  }

  private lost(socket: WebSocket, code: number): void {
    if (socket !== this.socket || this.closed) return;
    this.socket = null;
    clearInterval(this.pinging);
    this.listener.heard(false);
    const wait = code === TURNED_AWAY ? 5000 : RETRIES_MS[Math.min(this.tries++, RETRIES_MS.length - 1)]!;
    this.returning = setTimeout(() => this.open(), wait) as unknown as number;
  }
}
