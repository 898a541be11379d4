// Remember in this browser that the tour for newcomers was seen or skipped.

import { read, write } from "../../lib/storage.ts";

const NAME = "tour";
const isTrue = (value: unknown): value is boolean => value === true;

export const isTourSeen = (): boolean => read(NAME, isTrue, false);
export const leaveTour = (): void => write(NAME, true);
