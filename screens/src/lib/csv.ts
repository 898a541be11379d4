// Write CSV files: amounts have the currency's decimals and no separators, and no spreadsheet evaluates a text as a
// formula.

const NUMBER = String.raw`[+-]?\d[\d.,/]*( ?%)?`;

// A text that begins with a sign of a formula, also of full width, or with a tab or line end, which some spreadsheets
// skip. A number or a range of numbers stays as it is. `src/threedice/cli/output.py` has the same rule; both are tested
// with csv-cells.json.
const FORMULA = new RegExp(String.raw`^(?!${NUMBER}( to ${NUMBER})?$)[=+\-@\uff1d\uff0b\uff0d\uff20\t\r\n]`);

/** Join rows of cells under their headings; every text is escaped here, so that no caller can forget it. */
export const csvText = (columns: readonly string[], rows: readonly (readonly (string | number)[])[]): string =>
  [columns, ...rows, []].map((row) => row.map((value) => cell(String(value))).join(",")).join("\r\n");

function cell(text: string): string {
  const plain = FORMULA.test(text) ? `'${text}` : text;
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
