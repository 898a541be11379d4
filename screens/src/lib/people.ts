// Name players so that no two of them look alike. Pure.

import type { PlayerLine } from "../api/schema.d.ts";
import { t } from "../texts/texts.ts";

/** Return the name of a player: the known one, the number of a guest, or the beginning of an unknown id. */
export function nameOf(line: PlayerLine): string {
  if (line.name) return line.name;
  if (line.guest) return t("people.guest", { number: line.guest });
  return isRandom(line.player) ? t("people.unnamed", { id: line.player.slice(0, 8) }) : line.player;
}

const isRandom = (id: string): boolean => /^[0-9a-f]{20}$/.test(id);

/** Return a name for each player; those that would look alike are told apart by card number, seat or id. */
export function distinctNames(lines: readonly PlayerLine[]): ReadonlyMap<string, string> {
  const additions: readonly ((line: PlayerLine) => string)[] = [
    () => "",
    (line) => line.card || t("people.no-account"),
    (line) => (line.seat ? t("people.seat", { number: line.seat }) : t("people.left")),
    (line) => line.player,
  ];
  const found = new Map<string, string>();
  let left = [...lines];
  for (const add of additions) {
    const named = left.map((line) => [line, [nameOf(line), add(line)].filter(Boolean).join(" · ")] as const);
    const count = new Map<string, number>();
    for (const [, name] of named) count.set(look(name), (count.get(look(name)) ?? 0) + 1);
    left = [];
    for (const [line, name] of named)
      if (count.get(look(name)) === 1) found.set(line.player, name);
      else left.push(line);
  }
  for (const line of left) found.set(line.player, line.player);
  return found;
}

/** Return a form that is the same for names that differ in case, width or spaces only. */
const look = (name: string): string => name.normalize("NFKC").toLowerCase().replace(/\s+/g, " ").trim();

/** Return a player's name with the seat, if they have one. */
export const withSeat = (line: PlayerLine, name: string): string =>
  line.seat ? t("people.seated", { number: line.seat, name }) : name;

/** Return what else identifies a player besides the name: the seat and the card number, or that there are none. */
export function detailsOf(line: PlayerLine): string {
  const seat = line.seat ? t("people.seat", { number: line.seat }) : "";
  const card = line.card ? t("people.card", { card: line.card }) : t("people.no-account");
  return [seat, card].filter(Boolean).join(" · ");
}
