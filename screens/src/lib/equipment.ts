// Name the equipment of a table, and find what is wrong with it. Pure.

import type { EquipmentView, OpeningCheck, PieceView } from "../api/schema.d.ts";
import { boxName } from "../texts/boxes.ts";
import { capitalised, listed, t, textOr } from "../texts/texts.ts";

const MAX_NAMED = 6;

export const kindName = (kind: string): string => textOr(`equipment.kind.${kind}`, kind);
/** Return the name of a kind, capitalised for the beginning of a line. */
export const kindTitle = (kind: string): string => capitalised(kindName(kind));
export const conditionTitle = (condition: PieceView["condition"]): string =>
  capitalised(t(`equipment.condition.${condition}`));
export const kindNames = (kinds: readonly string[]): string => listed(kinds.map(kindName));

/** Return a piece with its kind: "l-1 (lights)". */
export const pieceName = ({ piece, kind }: PieceView): string => t("equipment.piece", { piece, kind: kindName(kind) });

/** Return a piece of the register with its kind, or only its name while the register is not loaded. */
export function nameOf(equipment: EquipmentView | null, piece: string): string {
  const found = equipment?.pieces.find((each) => each.piece === piece);
  return found ? pieceName(found) : piece;
}

/** Name lamps, only the first of many. */
export function lampNames(lamps: readonly string[], most = MAX_NAMED): string {
  const names = listed(lamps.slice(0, most).map(boxName));
  return lamps.length > most ? `${names} ${t("equipment.more", { count: lamps.length - most })}` : names;
}

/** Whether the table is set up without a kind of equipment, or has all of it out of use. */
export function lacks({ pieces, omitted }: EquipmentView, kind: string): boolean {
  const known = omitted.includes(kind) || pieces.some((each) => each.kind === kind);
  return known && !pieces.some((each) => each.kind === kind && each.in_use);
}

/** Return the pieces in use of some kinds; of every kind if none is named. */
export const inUse = ({ pieces }: EquipmentView, kinds: readonly string[]): PieceView[] =>
  pieces.filter((each) => each.in_use && (!kinds.length || kinds.includes(each.kind)));

/** Whether a seal must be compared with the register before an opening check can pass. */
export const comparesSeal = (equipment: EquipmentView | null, { seal, pieces }: OpeningCheck): boolean =>
  !!seal && !!equipment && inUse(equipment, pieces ?? []).some((piece) => piece.seal);

/** Return the faulty pieces in use, and those out of use that nothing replaces. */
export const defective = (equipment: EquipmentView): PieceView[] =>
  equipment.pieces.filter(
    (each) =>
      (each.condition === "faulty" && each.in_use) || (each.condition === "out-of-use" && lacks(equipment, each.kind)),
  );

/** Whether tests found lamps in use that stay dark or light up wrongly: no round starts with them. */
export const hasWrongLamps = (equipment: EquipmentView): boolean =>
  inUse(equipment, ["lights"]).length > 0 && equipment.dark.length + equipment.stray.length > 0;

const displayName = (what: EquipmentView["wrong"][number]): string =>
  what === "echo" ? t("dealer.terminal.echo") : kindName("results-display");

/** Return what tests found: each sort of finding with its names. */
export function findings({ dark, stray, wrong }: EquipmentView, most?: number): { what: string; names: string }[] {
  return [
    { what: t("equipment.dark"), names: lampNames(dark, most) },
    { what: t("equipment.stray"), names: lampNames(stray, most) },
    { what: t("equipment.wrong"), names: listed(wrong.map(displayName)) },
  ].filter((each) => each.names);
}
