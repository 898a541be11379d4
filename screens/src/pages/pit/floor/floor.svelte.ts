// Poll all tables for the pit: the state of each, and its figures of the gaming day so far.

import { get, Trouble } from "../../../api/client.ts";
import type { ShiftReportView, TableLine, TableView } from "../../../api/schema.d.ts";
import { together } from "../shared/figures.ts";
import type { Figures } from "../shared/figures.ts";
import { poll } from "../../../lib/poll.ts";

export interface Tended {
  line: TableLine;
  /** The staff's view of the table; null for users who do not work there. */
  view: TableView | null;
  report: ShiftReportView | null;
  figures: Figures | null;
}

const SECONDS = 4;
/** Reports read the whole day's events, so they are polled less often than the state. */
const LOOKS_PER_REPORT = 3;

export class WholeFloor {
  tables = $state.raw<Tended[]>([]);
  suspended = $state(false);
  loaded = $state(false);
  private looks = 0;

  start(): () => void {
    return poll(() => this.look(), SECONDS);
  }

  async look(): Promise<void> {
    const withReports = this.looks++ % LOOKS_PER_REPORT === 0;
    const [house, lines] = await Promise.all([
      get("/api/house", { background: true }),
      get("/api/tables", { background: true }),
    ]);
    const before = new Map(this.tables.map((each) => [each.line.table, each]));
    this.tables = await Promise.all(
      lines.map((line) => tended(line, withReports ? undefined : before.get(line.table))),
    );
    this.suspended = house.suspended;
    this.loaded = true;
  }

  /** Poll at once, including reports, after a change made here. */
  lookAgain(): Promise<void> {
    this.looks = 0;
    return this.look();
  }
}

async function tended(line: TableLine, known: Tended | undefined): Promise<Tended> {
  const asked = { at: { table: line.table }, background: true };
  const view = line.damaged ? null : await unlessRefused(get("/api/tables/{table}", asked));
  const seen = view?.float_amount === null ? null : view;
  const report = known ? known.report : await unlessRefused(get("/api/tables/{table}/shift", asked));
  return { line, view: seen, report, figures: report && together([report]) };
}

async function unlessRefused<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof Trouble && error.status >= 400 && error.status < 500) return null;
    throw error;
  }
}
