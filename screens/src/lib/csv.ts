// Write CSV files: amounts have the currency's decimals and no separators, and no spreadsheet evaluates a text as a
// formula.

/** Join lines of cells under their headings. */
export const csvText = (columns: readonly string[], lines: readonly string[]): string =>
  [columns.join(","), ...lines, ""].join("\r\n");

/** Escape a text, also one that a spreadsheet would evaluate. */
export function cell(text: string): string {
  const plain = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}

/** Format 12345 with two digits as "123.45". */
export function decimal(amount: number, digits: number): string {
  const text = String(Math.abs(amount)).padStart(digits + 1, "0");
  const whole = digits ? `${text.slice(0, -digits)}.${text.slice(-digits)}` : text;
  return amount < 0 ? `-${whole}` : whole;
}

/** Save a CSV text as a file, with the mark that spreadsheets recognise UTF-8 by. */
export function download(name: string, text: string): void {
  const href = URL.createObjectURL(new Blob(["\ufeff", text], { type: "text/csv;charset=utf-8" }));
  Object.assign(document.createElement("a"), { href, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(href), 10_000);
}
