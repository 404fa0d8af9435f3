/** The product's log lines, kept for the test instead of printed. */
import { vi } from "vitest";

type Line = { event: string } & Record<string, unknown>;

let lines: string[] = [];

/** Starts a new list. The console of this layer hides its spies, so what they are told is kept here. */
export function keepLog(): void {
  lines = [];
  vi.spyOn(console, "log").mockImplementation((line) => {
    lines.push(String(line));
  });
}

/** Everything logged in this test, as one text. */
export function readLog(): string {
  return lines.join("\n");
}

/** The lines of one event, oldest first. */
export function linesOf(event: string): Line[] {
  return lines.map((line): Line => JSON.parse(line)).filter((line) => line.event === event);
}
