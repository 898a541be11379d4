// Put the winning bets into the order in which they are paid, and find the next one, and the spot to pay at once. Pure.
// The order of the boxes is the server's; at one box the bets are paid by seat.

import type { WorkingSheet } from "../../api/schema.d.ts";

export type Payment = WorkingSheet["pay"][number];

export function inPayingOrder(pay: readonly Payment[], seatOf: (player: string) => number): Payment[] {
  const boxes = [...new Set(pay.map((each) => each.spot))];
  return [...pay].sort((a, b) => boxes.indexOf(a.spot) - boxes.indexOf(b.spot) || seatOf(a.player) - seatOf(b.player));
}

/** Return what identifies a payment; another amount is another payment, and is not ticked. */
export const paymentKey = (each: Payment): string => `${each.spot} ${each.player} ${each.winnings}`;

/** Return the next payment without a tick after one, from the start again at the end; undefined if all have one. */
export function nextUnpaid(order: readonly Payment[], ticked: ReadonlySet<string>, after = -1): Payment | undefined {
  const rotated = [...order.slice(after + 1), ...order.slice(0, after + 1)];
  return rotated.find((each) => !ticked.has(paymentKey(each)));
}

/** Return the spot to pay before the others: that of the last tick until it is paid, else that of the current payment. */
export const spotToPay = (order: readonly Payment[], lastTicked: string, current?: Payment): string =>
  order.some((each) => each.spot === lastTicked) ? lastTicked : (current?.spot ?? "");
