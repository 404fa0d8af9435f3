/** Sizes and paces of the ledger that are not settings, each with its reason. Times in milliseconds. */

/** The newest migration that this build knows. */
export const SCHEMA_VERSION = 3;

/** Lines of one row in D1: about 100 KB, where a row may have 2 MB. */
export const BUNDLE_LINES = 256;

/** Bundles written by one statement: one JSON parameter of at most 2 MB. */
export const BUNDLES_PER_WRITE = 8;

/** Lines that one transaction of a shard takes: their text is one row of its storage, of at most 2 MB. */
export const BATCH_LINES_MAX = 1_000;

/** So long a batch waits for more. Nobody waits for it: what is appended here has been answered to its caller already. */
export const GATHER_MS = 10;

/** So many deliveries wait for no more: a transaction's own cost is small beside theirs by then. */
export const GATHERED_MAX = 16;

/** Text of the lines that one transaction of a shard takes, or one write to D1: with hashes and escapes it stays under 2 MB. */
export const BATCH_CHARS_MAX = 1_200_000;

/** Least time between two checkpoints. */
export const CHECKPOINT_PAUSE_MS = 1_000;

/** With less than a bundle to publish, so much time lies between two rounds: fewer rows for the same entries. */
export const PUBLISH_PAUSE_MS = 5_000;

/** First pause after a failed round of a sink; it doubles up to the second figure. */
export const SINK_RETRY_MS = 1_000;
export const SINK_RETRY_MS_MAX = 60_000;

/** A sink whose store holds something else is looked at again after this: a person has to act. */
export const SINK_STUCK_MS = 600_000;

/** A call of D1 that takes longer than this is given up and made again later. */
export const D1_TIMEOUT_MS = 20_000;

/** Events that one delivery to a receiver names, so that they fit a header field everywhere: at most 40 characters each. */
export const EVENTS_PER_PUSH_MAX = 64;

/** A receiver has to take a delivery within this time. */
export const WEBHOOK_TIMEOUT_MS = 5_000;

/** Rows that a page of a list looks at: a filter that matches few of millions of rows must not make one page read them all. */
export const LOOKED_AT_MAX = 10_000;

/** A shard that does not answer within this time has not taken an entry, as far as its sender is concerned. */
export const APPEND_TIMEOUT_MS = 10_000;

/** Retention is looked after this often, or ten times within it where that is shorter. */
export const PRUNE_PAUSE_MS = 86_400_000;
export const PRUNE_PAUSE_MS_MIN = 60_000;

/** So often a delivery looks for its shard: epochs are opened by people, not several within one delivery. */
export const PLACE_TRIES_MAX = 3;

/** Shards that one round of the first shard opens, and how many of them at a time. */
export const OPENED_PER_ROUND = 128;
export const OPENED_AT_ONCE = 16;
