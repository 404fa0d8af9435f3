/**
 * What must be true where a later build has run on the store: this one refuses what it can't read, and leaves it as it is. Pure.
 * The contract: a record written by a newer version is `store-unavailable`, and nothing is sent.
 */
import type { Violation } from "./checker.ts";
import { type Fact, type FactOf, type History, selectFacts, type Told } from "./history.ts";

export const LATER_RULE_NAMES = ["later-changed"] as const;

export function checkLater({ facts }: History): Violation[] {
  return selectFacts(facts, "left")
    .filter(({ isSame }) => !isSame)
    .map(({ file }) => ({
      rule: "later-changed",
      key: file,
      text: "its record is a later build's, and this build has changed what is stored with it",
    }));
}

/** Of one key's facts: what this build said or sent while the record may have been, or was, a later build's. */
export type Unread = {
  may: ReadonlySet<number>;
  must: readonly FactOf<"told">[];
  sent: readonly FactOf<"arrived">[];
};

/** A later build has claimed what first reaches the origin while it runs, and may have stored anew whatever was there when it began. */
export function listUnread(facts: readonly Fact[]): Unread {
  const may = new Set<number>();
  const must: FactOf<"told">[] = [];
  const sent: FactOf<"arrived">[] = [];
  const begun = new Set<number>();
  let isLater = false;
  let isCalled = false;
  let isKnownToLater = false;
  let claimedBy: "nobody" | "this" | "later" = "nobody";
  for (const fact of facts) {
    switch (fact.kind) {
      case "swapped":
        isLater = fact.to === "later";
        isKnownToLater ||= isLater && isCalled;
        begun.clear();
        break;
      case "called":
        isCalled = true;
        isKnownToLater ||= isLater;
        if (isKnownToLater && !isLater) may.add(fact.call);
        if (!isLater) begun.add(fact.call);
        break;
      case "arrived":
        if (claimedBy === "later" && !isLater) sent.push(fact);
        if (claimedBy === "nobody") claimedBy = isLater ? "later" : "this";
        break;
      case "told":
        if (claimedBy === "later" && begun.has(fact.call)) must.push(fact);
        break;
      default:
        break;
    }
  }
  return { may, must, sent };
}

export function isRefused({ slug, status, mark }: Told): boolean {
  return slug === "store-unavailable" && status === 503 && mark === "refused";
}
