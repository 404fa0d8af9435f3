/** The one place that writes log lines: one JSON object a line, nothing of a request's own text in it. */
import type { Report } from "./core/ports.ts";

/** Writes one entry of the ledger as it is, where stdout is a sink. */
export function printEntry(line: string): void {
  console.log(line);
}

export const report: Report = (event, members) => {
  console.log(JSON.stringify({ event, ...members }));
};

/** All that a log line says of an error: messages quote what they were given. */
export function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : "unknown";
}
