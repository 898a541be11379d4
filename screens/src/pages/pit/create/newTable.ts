// The details of a table to create, as its form edits them, and the commands that follow from them.

import type { TableCommand } from "../../../api/commands.ts";
import type { Counts } from "../../../chips/counts.ts";
import type { Assignment, GameView, Timing } from "../../../api/schema.d.ts";
import { session } from "../../../lib/session.svelte.ts";
import { isRecord, isText, read, write } from "../../../lib/storage.ts";
import { mayOpen } from "../shared/openers.ts";
import { usualTerms } from "../shared/terms.ts";
import type { Terms } from "../shared/terms.ts";

export interface NewTable {
  table: string;
  game: string;
  readings: Record<string, string>;
  dealer: "people" | "house";
  timing: Timing;
  /** Whether the creator may open the table; otherwise somebody else does, on terms of their own. */
  opens: boolean;
  terms: Terms;
  /** Whether the table opens with a counted rack, and deals in chips. */
  inChips: boolean;
  /** What was counted; null until it is complete. */
  rack: Counts | null;
  /** By kind; a piece without a serial number is not entered into the register. */
  pieces: Record<string, { serial: string; seal: string; omitted: boolean }>;
  dice: DiceSet;
  staff: { account: string; role: Assignment["role"] }[];
  hours: number;
  reason: string;
}

export interface DiceSet {
  name: string;
  dice: { serial: string; colour: string }[];
  /** The seal of the set when it comes to the table. */
  seal: string;
  /** The seal under which it is played with. */
  installed: string;
}

/** The kinds of equipment that any table may have, besides those that its rulebook describes. */
const USUAL_KINDS = ["tumbler", "cover", "terminal", "lights", "results-display", "bell", "drop-box", "chip-rack"];
const DICE = "dice";

/** The format of table ids. */
export const TABLE_ID = "[a-z0-9][a-z0-9\\-]{0,39}";

/** Return the kinds of equipment that a table may have, those of its rulebook first; dice are separate. */
export const kindsOf = (game: GameView): string[] =>
  [...new Set([...Object.keys(game.conduct.equipment), ...USUAL_KINDS])].filter((kind) => kind !== DICE);

export function newTable(game: GameView, before?: NewTable): NewTable {
  const currency = session.house?.currency ?? "";
  const detail = game.conduct.equipment[DICE]?.detail;
  const dice = detail?.offered || detail?.count || 3;
  const dealer = before?.dealer ?? "people";
  return {
    table: before?.table ?? "",
    game: game.id,
    readings: {},
    dealer,
    timing: before?.timing ?? { betting_seconds: 20, closing_seconds: 2, showing_seconds: 6 },
    opens: mayOpen(game),
    terms: usualTerms(game, currency, dealer === "house"),
    inChips: before?.inChips ?? false,
    rack: before?.rack ?? null,
    pieces: Object.fromEntries(kindsOf(game).map((kind) => [kind, { serial: "", seal: "", omitted: false }])),
    dice: {
      name: "set-1",
      dice: Array.from({ length: dice }, () => ({ serial: "", colour: "" })),
      seal: "",
      installed: "",
    },
    staff: before?.staff ?? [],
    hours: before?.hours ?? 8,
    reason: before?.reason ?? "",
  };
}

/** Whether the creator opens the table with a counted rack; a table that the house deals has none. */
export const isCounted = ({ opens, dealer, inChips }: NewTable): boolean => opens && dealer === "people" && inChips;

export function establishing(details: NewTable): TableCommand {
  const { game, readings, dealer, timing } = details;
  return { type: "EstablishTable", game, readings, dealt_by_house: dealer === "house" ? { ...timing } : null };
}

/** Return the commands that enter the equipment, each with the name of its piece or kind. */
export function equipping(details: NewTable): { piece: string; command: TableCommand }[] {
  if (details.dealer === "house") return [];
  const commands: { piece: string; command: TableCommand }[] = [];
  for (const [kind, { serial, seal, omitted }] of Object.entries(details.pieces)) {
    if (omitted) commands.push({ piece: kind, command: { type: "OmitEquipment", kind } });
    else if (serial.trim())
      commands.push({ piece: kind, command: { type: "RegisterPiece", piece: kind, kind, serial, seal, dice: [] } });
  }
  const { name, dice, seal, installed } = details.dice;
  if (hasDice(details.dice))
    commands.push(
      { piece: name, command: { type: "RegisterPiece", piece: name, kind: DICE, serial: "", seal, dice } },
      { piece: name, command: { type: "InstallDice", piece: name, seen: seal, seal: installed } },
    );
  return commands;
}

export const hasDice = ({ dice }: DiceSet): boolean => dice.some((die) => die.serial.trim());

/** Return why a set of dice cannot be entered: some but not all serial numbers, or the same twice. */
export function diceFault({ dice }: DiceSet): "incomplete" | "twice" | null {
  const serials = dice.map((die) => die.serial.trim()).filter(Boolean);
  if (!serials.length) return null;
  if (serials.length < dice.length) return "incomplete";
  return new Set(serials).size < serials.length ? "twice" : null;
}

// --- the table being created, stored so that a reloaded page continues ---------------------------

interface Stored {
  account: string;
  details: NewTable;
}

const STORED_AS = "new-table";

const isStored = (value: unknown): value is Stored | null =>
  value === null ||
  (isRecord(value) &&
    isText(value["account"]) &&
    isRecord(value["details"]) &&
    ["table", "game", "reason"].every((key) => isText((value["details"] as Record<string, unknown>)[key])) &&
    ["readings", "timing", "terms", "pieces", "dice"].every((key) =>
      isRecord((value["details"] as Record<string, unknown>)[key]),
    ) &&
    Array.isArray((value["details"] as Record<string, unknown>)["staff"]));

/** Return the table that the user is creating, if there is one. */
export function begun(): NewTable | null {
  const stored = read<Stored | null>(STORED_AS, isStored, null);
  return stored && stored.account === session.who?.account ? stored.details : null;
}

export const keep = (details: NewTable): void => write(STORED_AS, { account: session.who?.account, details });

export const forget = (): void => write(STORED_AS, null);

/** Whether the user may create tables: managers, and supervisors of all tables. */
export function mayCreate(): boolean {
  const who = session.who;
  const roles: readonly string[] = who?.roles ?? [];
  if (roles.includes("pit-manager") || roles.includes("shift-manager")) return true;
  return roles.includes("supervisor") && (who?.tables ?? null) === null;
}
