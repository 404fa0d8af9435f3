/** What a reconciliation finds, what it learns of it, and what it keeps. Pure. */
import { QUARANTINE_AFTER, QUARANTINED_MS, QUARANTINED_MS_MAX } from "../limits.ts";
import { isPaused } from "../pause.ts";

/** A place in a scan's order: by time of change, then by id, both ascending. */
export type Cursor = { at: number; id: string };

/** True for every place where there was none before. Ids are visible ASCII, so that code units compare as the database's bytes do. */
export function isAfter(place: Cursor, before: Cursor | null): boolean {
  if (before === null) return true;
  return place.at > before.at || (place.at === before.at && place.id > before.id);
}

/** Something that should have come to its end. */
export type Finding = {
  /** Names it for ever: an effect's id, a space and its stream. */
  id: string;
  /** `incomplete`: an intent without an outcome. `ambiguous`: its outcome is known not to be known. */
  kind: "incomplete" | "ambiguous";
  /** Name of the key object it belongs to; null: nobody wrote it down. */
  operation: string | null;
  /** How often in a row it was asked about in vain, and when it may be asked about again. */
  failures: number;
  dueAt: number;
};

/** A finding's id, and what it is made of. Neither part has a space. */
export function writeFindingId(effect: string, stream: string): string {
  return `${effect} ${stream}`;
}

export function readFindingId(id: string): { effect: string; stream: string } {
  const [effect = "", stream = ""] = id.split(" ");
  return { effect, stream };
}

/** An open dispatch. `effect` is its id. */
export type StaleEffect = Finding & { effect: string };

/** `next` is where the page behind this one begins; null: this is the last one. */
export type Page<Found extends Finding> = { findings: readonly Found[]; next: Cursor | null };

/**
 * `closed`: its outcome is known where it is decided. `open`: it is not, and who decides it is at work. `failed`: nothing was learned.
 * `code` is a word of a closed list.
 */
export type Learned = { kind: "closed" | "open" | "failed"; code: string };

/** What is written down of a finding. */
export type JudgedFinding = Finding & { code: string };

/** Findings in quarantine are passed over until they are due. */
export function isDue(finding: Finding, now: number): boolean {
  return !isPaused(finding.dueAt, now, pauseAfter(finding.failures));
}

/**
 * What is closed should not be found again: while it is, the database lags behind the one who decides, and that counts like a failure. So
 * nothing is asked about for ever at the same pace, and what does not get better is listed.
 */
export function judge(finding: Finding, learned: Learned, now: number): JudgedFinding {
  const { id, kind, operation } = finding;
  const failures = learned.kind === "open" ? 0 : finding.failures + 1;
  return { id, kind, operation, failures, code: learned.code, dueAt: now + pauseAfter(failures) };
}

/** The first failures are tried again by the next scan; from then on the pause doubles. */
function pauseAfter(failures: number): number {
  if (failures < QUARANTINE_AFTER) return 0;
  return Math.min(QUARANTINED_MS * 2 ** Math.min(failures - QUARANTINE_AFTER, 20), QUARANTINED_MS_MAX);
}
