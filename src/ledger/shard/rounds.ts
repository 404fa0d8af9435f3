/** When a shard's alarm has to ring, and what its round does then: every sink by itself, none in another's way. */

import { isPaused, pausedUntil } from "../../core/pause.ts";
import { nameOf } from "../../report.ts";
import {
  BUNDLE_LINES,
  CHECKPOINT_PAUSE_MS,
  D1_TIMEOUT_MS,
  PUBLISH_PAUSE_MS,
  SINK_RETRY_MS_MAX,
  SINK_STUCK_MS,
} from "../bounds.ts";
import type { ShardPlace } from "../epochs.ts";
import { TreeReader } from "../read/proofs.ts";
import { withinTime } from "../time.ts";
import { isOpening, openShards } from "./epoch-desk.ts";
import type { OwnStream } from "./own-stream.ts";
import type { LedgerParts } from "./parts.ts";
import { prune, pruneDue } from "./pruner.ts";
import { type Publishing, publish } from "./publisher.ts";
import { pauseAfter, printLines, pushDue, pushLines } from "./push.ts";
import type { Prune, Push, ShardStore } from "./store.ts";

export type Round = {
  store: ShardStore;
  place: ShardPlace;
  parts: LedgerParts;
  own: OwnStream;
  signer: Publishing["signer"];
};

/** Nothing of its kind is done before a time. `ms`: how long it was to last when it began. */
type Rest = { until: number; ms: number };

const NO_REST: Rest = { until: 0, ms: 0 };

/** What is not stored: failures in a row, and when what failed is tried again. A restart tries at once. */
export class Rounds {
  #failures = 0;
  #publishRest = NO_REST;
  #pruneRest = NO_REST;
  #openRest = NO_REST;
  #isBeforeShown = false;
  /** So large a log had a bundle to publish when it was last found out what is due. */
  #fullAt = 0;

  /** Whether there may be a bundle to publish in a log of this size. */
  isBundleFull(size: number): boolean {
    return size >= this.#fullAt;
  }

  /** When the next round is due; null: nothing is left to do. */
  due(store: ShardStore, parts: LedgerParts, now: number): number | null {
    const { size } = store.readLog();
    const published = store.read("published");
    const backlog = size - (published?.size ?? 0);
    this.#fullAt = (published?.size ?? 0) + BUNDLE_LINES;
    const push = store.read("webhook");
    const isPushing = parts.webhook !== null && (push?.cursor ?? 0) < size;
    const isPrinting = parts.print !== null && (store.read("stdout") ?? 0) < size;
    const pace = this.#pace(backlog, published?.at ?? 0, now);
    const dues = [
      backlog > 0 ? Math.max(pace, restsUntil(this.#publishRest, now)) : null,
      isPushing ? pushPace(push, pace, now) : null,
      isPrinting ? pace : null,
      isOpening(store) ? restsUntil(this.#openRest, now) : null,
      parts.database === null
        ? null
        : this.#pruneDue(store.read("prune"), published?.size ?? 0, parts.retentionMs, now),
    ].filter((due) => due !== null);
    return dues.length === 0 ? null : Math.max(now, Math.min(...dues));
  }

  /** The first round begins to look. An entry that was appended is waited for until a checkpoint covers it. */
  #pruneDue(state: Prune | null, published: number, retentionMs: number, now: number): number | null {
    if (state === null) return null;
    const from = restsUntil(this.#pruneRest, now);
    if (state.pending === null) return Math.max(pruneDue(state, retentionMs, now), from);
    return state.pending.entry < published ? from : null;
  }

  /** A bundle's worth of lines goes out at once; fewer wait for more. */
  #pace(backlog: number, last: number, now: number): number {
    // The last one may be of a time that the clock has not reached, or not again.
    const since = Math.min(last, now);
    if (backlog >= BUNDLE_LINES) return Math.max(now, since + CHECKPOINT_PAUSE_MS);
    return Math.max(now + CHECKPOINT_PAUSE_MS, since + PUBLISH_PAUSE_MS);
  }

  /** Never rejects: what fails is reported and tried again after a pause. */
  async run(round: Round): Promise<void> {
    const { store, place, parts } = round;
    const report = (sink: string, index: number | null): void => {
      if (index !== null) parts.report("ledger-sink-skipped", { shard: place.shard, sink, index });
    };
    if (parts.print !== null) report("stdout", printLines(store, parts.print));
    await Promise.all([
      this.#push(round, (index) => report("webhook", index)),
      this.#publish(round, (index) => report("d1", index)),
    ]);
    await this.#prune(round);
    await this.#open(round);
    store.dropStaged(neededFrom(store, parts));
  }

  async #push({ store, place, parts }: Round, onSkipped: (index: number) => void): Promise<void> {
    if (parts.webhook === null) return;
    for (;;) {
      const receiver = { shard: place.shard, send: parts.send, ...parts.webhook };
      const pushed = await pushLines(store, receiver, Date.now());
      if (pushed.skipped !== null) onSkipped(pushed.skipped);
      if (pushed.kind === "refused") parts.report("ledger-webhook-failed", { shard: place.shard });
      if (pushed.kind !== "taken") return;
    }
  }

  async #publish(round: Round, onHole: (index: number) => void): Promise<void> {
    if (isResting(this.#publishRest)) return;
    const { store, place, parts, signer } = round;
    const origin = `${parts.name}/${place.shard}`;
    const { database, allEffects } = parts;
    try {
      if (!(await this.#isPublishable(round))) {
        this.#publishRest = restFor(PUBLISH_PAUSE_MS);
        return;
      }
      const done = await publish(store, { shard: place.shard, origin, signer, database, allEffects, onHole });
      this.#failures = 0;
      this.#publishRest = done.kind === "differs" ? restFor(SINK_STUCK_MS) : NO_REST;
      if (done.kind === "differs") {
        const { table, first } = done;
        parts.report("ledger-differs", { shard: place.shard, table, index: first });
      }
    } catch (error) {
      this.#publishRest = restFor(pauseAfter(this.#failures));
      this.#failures += 1;
      parts.report("ledger-publish-failed", { shard: place.shard, error: nameOf(error) });
    }
  }

  /**
   * A shard shows nothing before the end of the one before it is shown: whoever reads both finds a whole history, and rows of effects hear of
   * their entries in order.
   */
  async #isPublishable({ store, parts }: Round): Promise<boolean> {
    const before = store.read("before");
    if (before === null || this.#isBeforeShown) return true;
    if (
      store.read("published") === null &&
      !(await withinTime(parts.other.isEndShown(before), D1_TIMEOUT_MS))
    )
      return false;
    this.#isBeforeShown = true;
    return true;
  }

  async #open({ store, parts }: Round): Promise<void> {
    if (!isOpening(store) || isResting(this.#openRest)) return;
    try {
      await openShards(store, (place) => withinTime(parts.other.open(place), D1_TIMEOUT_MS));
    } catch (error) {
      this.#openRest = restFor(SINK_RETRY_MS_MAX);
      parts.report("ledger-opening-failed", { error: nameOf(error) });
    }
  }

  async #prune({ store, place, parts, own }: Round): Promise<void> {
    const { database, retentionMs, report } = parts;
    if (database === null || store.readLog().size === 0 || isResting(this.#pruneRest)) return;
    const { shard } = place;
    try {
      await prune(
        store,
        {
          shard,
          retentionMs,
          database,
          own,
          rootAt: (size) => new TreeReader(database, shard).root(size),
          onPruned: (members) => report("ledger-pruned", { shard, ...members }),
        },
        Date.now(),
      );
    } catch (error) {
      this.#pruneRest = restFor(SINK_STUCK_MS);
      report("ledger-prune-failed", { shard, error: nameOf(error) });
    }
  }
}

/** A delivery that was refused waits for its own pause, any other for enough to deliver, too. */
function pushPace(push: Push | null, pace: number, now: number): number {
  if (push === null) return pace;
  const due = pushDue(push, now);
  return push.tries > 0 ? due : Math.max(due, pace);
}

function restFor(ms: number): Rest {
  return { until: Date.now() + ms, ms };
}

function restsUntil({ until, ms }: Rest, now: number): number {
  return pausedUntil(until, now, ms);
}

function isResting({ until, ms }: Rest): boolean {
  return isPaused(until, Date.now(), ms);
}

/** The oldest line that a sink may still ask for. A bundle that is not full is written again when it grows. */
function neededFrom(store: ShardStore, parts: LedgerParts): number {
  const published = store.read("published")?.size ?? 0;
  const written = parts.database === null ? published : (store.read("d1") ?? 0);
  const push = parts.webhook === null ? Number.POSITIVE_INFINITY : (store.read("webhook")?.cursor ?? 0);
  return Math.min(written - (written % BUNDLE_LINES), push);
}
