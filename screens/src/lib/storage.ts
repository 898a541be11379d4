// Read and write the browser's storage: the language, favourites, unread notices. A browser may have no storage,
// and a stored value may be damaged or of another version. Values are validated when they are read, so that a bad
// one is ignored and does not break the page.

/** `local` persists after the tab is closed, `session` does not. */
export type Area = "local" | "session";
export type Check<T> = (value: unknown) => value is T;

const PREFIX = "threedice.";

/** Read a value; return the fallback if there is no valid one. */
export function read<T>(name: string, isValid: Check<T>, fallback: T, area: Area = "local"): T {
  const value = parsed(readText(name, area));
  return isValid(value) ? value : fallback;
}

/** Read a list; skip invalid items. */
export function readList<T>(name: string, isItem: Check<T>, area: Area = "local"): T[] {
  return read(name, Array.isArray, [], area).filter(isItem);
}

export function readText(name: string, area: Area = "local"): string | null {
  try {
    return storage(area).getItem(PREFIX + name);
  } catch {
    return null;
  }
}

export function write(name: string, value: unknown, area: Area = "local"): void {
  writeText(name, JSON.stringify(value), area);
}

/** Store a text. Without storage, or if it is full, the page continues with the value in memory. */
export function writeText(name: string, text: string, area: Area = "local"): void {
  try {
    storage(area).setItem(PREFIX + name, text);
  } catch {
    return;
  }
}

export const isText = (value: unknown): value is string => typeof value === "string";

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const storage = (area: Area): Storage => (area === "local" ? localStorage : sessionStorage);

function parsed(text: string | null): unknown {
  try {
    return text === null ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}
