/** What a key says of one attempt, for those who found it open elsewhere. The key is the authority: it attends to itself first, then answers. */
import type { Attested } from "../../core/ports.ts";
import type { KeyRecord } from "../../core/record.ts";
import { type InquiryParts, inquire } from "../inquiry/inquire.ts";
import type { Keeper } from "../keeper.ts";

/**
 * A lease that is over makes the outcome unknown; what the ledger has not been told is delivered; an unknown outcome is asked about, where
 * there is somebody to ask. May be repeated at any time. A key that was never used is left unused.
 */
export async function askAttempt(keeper: Keeper, parts: InquiryParts, effect: string): Promise<Attested> {
  const stored = keeper.store.load();
  if (stored.kind === "unreadable") return { kind: "unavailable" };
  if (stored.record.state === "absent") return { kind: "stranger" };
  const known = attest(stored.record, effect);
  await keeper.tick(parts);
  // What was known may have come to the end of its time just now, and be wiped.
  if (known.kind === "closed") return known;
  const ticked = keeper.store.load();
  if (ticked.kind === "readable" && isUnknown(ticked.record, effect)) await inquire(keeper, parts, null);
  const left = keeper.store.load();
  return left.kind === "unreadable" ? { kind: "unavailable" } : attest(left.record, effect);
}

function isUnknown(record: KeyRecord, effect: string): boolean {
  return record.state === "unknown" && record.effect === effect;
}

/** Earlier attempts are nobody's any more: whatever became of them, this record will not say it. */
function attest(record: KeyRecord, effect: string): Attested {
  if (record.state === "absent" || record.effect !== effect) return { kind: "stranger" };
  switch (record.state) {
    case "in-flight":
    case "unknown":
      return { kind: "open", state: record.state };
    case "settled":
      return { kind: "closed", state: "committed" };
    case "released":
      return { kind: "closed", state: "failed" };
  }
}
