/**
 * What is done about dispatches whose outcome is nowhere to be read: their key objects are asked, and they alone decide. Nothing is written
 * into the effects table here: what a key object knows gets there through the ledger, as ever.
 */
import { toBase64Url } from "../core/bytes.ts";
import { STALE_AFTER_MS } from "../core/limits.ts";
import type { KeyPort, Report } from "../core/ports.ts";
import { type Bounds, checkBounds } from "../core/reconcile/bounds.ts";
import { type Cursor, isDue, type Learned, type Page, type StaleEffect } from "../core/reconcile/finding.ts";
import type { LeaseStore, Result, RunEvent, Stale, Work } from "../core/reconcile/ports.ts";
import type { Time } from "./lease.ts";
import { reconcile } from "./run.ts";

/** The lease's name, and that of everything kept of its runs. */
export const STALE_EFFECTS = "effects";

export type StaleParts = {
  leases: LeaseStore;
  scan: (after: Cursor | null, stale: Stale, limit: number) => Promise<Page<StaleEffect>>;
  keys: Pick<KeyPort, "ask">;
  report: Report;
};

/** One run. Never rejects. `bounds` that are not given are the usual ones; throws `RangeError` for one out of its range. */
export async function reconcileStale(
  parts: StaleParts,
  startedBy: string,
  abort: AbortSignal,
  bounds: Readonly<Partial<Bounds>> = {},
): Promise<Result> {
  const work: Work<StaleEffect> = {
    name: STALE_EFFECTS,
    scan: parts.scan,
    filter: isDue,
    handle: (finding) => askKey(finding, parts.keys),
    observe: (event) => reportEvent(event, parts.report),
  };
  const random = (): string => toBase64Url(crypto.getRandomValues(new Uint8Array(32)));
  const using = { leases: parts.leases, time: CLOCK, random, staleMs: STALE_AFTER_MS };
  return reconcile(work, using, { startedBy, bounds: checkBounds(bounds), abort });
}

const CLOCK: Time = {
  now: () => Date.now(),
  pause: (ms, signal) => scheduler.wait(ms, { signal }).catch(() => undefined),
};

async function askKey({ operation, effect }: StaleEffect, keys: Pick<KeyPort, "ask">): Promise<Learned> {
  // Its row is older than the column: a newer entry of its stream brings the name, or an operator who has the key.
  if (operation === null) return { kind: "failed", code: "unnamed" };
  const attested = await keys.ask(operation, effect);
  switch (attested.kind) {
    case "closed":
    case "open":
      return { kind: attested.kind, code: attested.state };
    case "stranger":
    case "unavailable":
      return { kind: "failed", code: attested.kind };
  }
}

/** Of runs that found nothing there is nothing to say. */
function reportEvent(event: RunEvent, report: Report): void {
  switch (event.kind) {
    case "acquired":
    case "page":
    case "checkpoint":
      return;
    case "lease-lost":
      report("reconciliation-lease-lost", {});
      return;
    case "failed": {
      const { finding, code } = event;
      if (finding === null) report("reconciliation-failed", { where: code });
      else report("reconciliation-finding-failed", { operation: finding.operation ?? "", code });
      return;
    }
    case "released": {
      const { ended, pages, scanned, handled, failed } = event.result;
      if (scanned > 0) report("reconciliation", { ended, pages, scanned, handled, failed });
    }
  }
}
