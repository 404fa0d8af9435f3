/**
 * Every bound and fixed duration that is not a setting, with its reason; bounds of one parser stand in its own file. Units are in the names.
 * Relations that must hold between them are asserted at the end: a wrong edit fails at start, not in production.
 */

/** Longest lease an executor holds without renewing it: the default origin timeout plus the settle margin. */
export const LEASE_MS_MAX = 30_000;

/** Time between the end of the origin's budget and the end of the lease, for sealing and storing the answer. */
export const SETTLE_MARGIN_MS = 5_000;

/** `Retry-After` of a request that meets its twin still running. */
export const RETRY_IN_FLIGHT_S = 1;

/** `Retry-After` of a request that meets an unknown outcome: about the time a person or a probe needs to act. */
export const RETRY_UNKNOWN_S = 30;

/** `Retry-After` of a new key over its quota, which is counted by the minute. */
export const RETRY_QUOTA_S = 60;

/** `Retry-After` when a store could not be reached. */
export const RETRY_STORE_S = 2;

/** Callers that may wait for one key at the same time; one more is answered `in-flight` at once. */
export const WAITERS_MAX = 16;

/** An outbox entry that was not acknowledged is sent again this long after it was written. */
export const FLUSH_AFTER_MS = 30_000;

/** Pause after a delivery that failed. */
export const FLUSH_RETRY_MS = 60_000;

/** No alarm is armed again sooner than this by the alarm itself, whatever is due: a due time can't make it spin. */
export const WAKE_PAUSE_MS = 1_000;

/** A record that this version can't read is looked at again after this, for the version that can. */
export const UNREADABLE_RETRY_MS = 3_600_000;

/**
 * An alarm that stands earlier than what is due is left, since moving it costs a row, unless it stands earlier by more than this:
 * then the run it would cause, for nothing, costs more.
 */
export const ALARM_TOO_EARLY_MS = 60_000;

/**
 * Undelivered entries one key may hold. An entry takes under 600 bytes, a stored value at most 2 MB
 * (Durable Objects limits), so this leaves half of it for the answer. Beyond it a key grants no new attempt.
 */
export const OUTBOX_ENTRIES_MAX = 1_000;

/**
 * With so many undelivered entries a key takes no more observations: what is left of its outbox is for changes of state, which must never find
 * it full because somebody asks again and again.
 */
export const OBSERVED_OUTBOX_MAX = 500;

/** Observations that wait in memory while earlier ones are being written. More are counted and dropped. */
export const OBSERVED_WAITING_MAX = 200;

/** An isolate that has not heard from a key object for so long tells it anew what it has seen since. */
export const OBSERVER_PATIENCE_MS = 30_000;

/** Entries that one attempt may report, and all attempts of one life of a key together, so that what is known of them fits one row. */
export const REPORTED_OF_ATTEMPT_MAX = 1_000;
export const REPORTED_OF_LIFE_MAX = 4_000;

/** Text of undelivered reported entries that one key may hold. Beyond it a report is taken later. */
export const REPORTED_CHARS_MAX = 1_000_000;

/** What the ledger adds to a reported entry: stream, hash of the one before, and the names of all members. */
export const ENTRY_FRAME_CHARS = 400;

/** Largest report of effects. */
export const REPORT_BYTES_MAX = 1024 * 1024;

/** Largest request of an operator: it is read, parsed and decoded in memory, and an answer in it travels to the key's object. */
export const OPERATOR_BYTES_MAX = 16 * 1024 * 1024;

/** Largest value put into one storage row. The platform's limit is 2 MB; the local runtime does not enforce it. */
export const ROW_BYTES_MAX = 1_900_000;

/** Answers up to this size live inside the record's own row; larger ones get rows of their own. */
export const INLINE_BYTES_MAX = 256 * 1024;

/** Answers up to this size are kept in the isolate's memory for replays. */
export const CACHED_ANSWER_BYTES_MAX = 64 * 1024;

/** All answers in the isolate's memory together. An isolate has 128 MB, shared with the objects placed in it. */
export const CACHE_BYTES_MAX = 16 * 1024 * 1024;

/** First pause between two probes of one unknown outcome; it doubles up to the second figure. */
export const PROBE_FIRST_MS = 1_000;
export const PROBE_PAUSE_MS_MAX = 15 * 60_000;

/** Pause of the alarm, up to twice this, when its question was put off or the route has nobody to ask any more. */
export const PROBE_PUT_OFF_MS = 5_000;
export const PROBE_UNABLE_MS = 3_600_000;

/** A probe, and a seal, each have to be answered within this time. */
export const PROBE_TIMEOUT_MS = 5_000;

/** Largest answer to a probe: it is read, parsed and decoded in memory, of which an isolate has 128 MB. */
export const PROBE_BYTES_MAX = 12 * 1024 * 1024;

/** What an answer to a probe may hold beside the kept answer's body. */
export const PROBE_FRAME_BYTES = 64 * 1024;

/** Questions that one isolate asks the origin in a second, each a probe and at most one seal. */
export const PROBES_PER_SECOND = 20;

/** Probes without a proper answer, one after another, that make an isolate stop asking, and for how long until the next try. */
export const PROBE_FAILURES_MAX = 5;
export const PROBE_REST_MS = 30_000;

/** Times a call to an object is made before its store counts as unavailable, and the first pause between two. */
export const STORE_TRIES_MAX = 3;
export const STORE_PAUSE_MS = 25;

/** A request body has to be there within this time: a slow one must not hold its connection for ever. */
export const BODY_TIMEOUT_MS = 30_000;

/** A body that was refused is read and dropped up to here, so that its connection can be used again. */
export const DRAIN_BYTES_MAX = 4 * 1024 * 1024;
export const DRAIN_MS_MAX = 2_000;

/** A status read waits no longer than this, whatever is asked. */
export const LOOK_WAIT_MS_MAX = 30_000;

/** New keys of a quota are counted by windows of this length. */
export const QUOTA_WINDOW_MS = 60_000;

/** How long a browser may remember a preflight's answer. */
export const PREFLIGHT_AGE_S = 600;

/** Clocks of token issuers may differ from ours by this much (RFC 7519 section 4.1.4 allows some leeway). */
export const JWT_LEEWAY_S = 10;

/** `authorize` has to answer within this time. Silence is a no. */
export const AUTHORIZE_TIMEOUT_MS = 5_000;

/** Life of an `Effect-Token` after its attempt began: late reports are welcome for a day. */
export const EFFECT_TOKEN_MS = 24 * 3_600_000;

/** An open dispatch that has not changed for so long is asked about: longer than a lease, a delivery and a round of the ledger take. */
export const STALE_AFTER_MS = 90_000;

/** A run of the cron ends itself before the next one begins, one that an operator waits for sooner: behind the page it is at. */
export const RUN_MS_MAX = 4 * 60_000;
export const OPERATOR_RUN_MS_MAX = 20_000;

/** A finding is given up on after this; its key object goes on with what it was asked. */
export const FINDING_MS_MAX = 20_000;

/** So many failures in a row put a finding into quarantine (an index of D1 names the number, too), for the first pause; it doubles up to the second. */
export const QUARANTINE_AFTER = 3;
export const QUARANTINED_MS = 10 * 60_000;
export const QUARANTINED_MS_MAX = 24 * 3_600_000;

/** No lease on a reconciliation lasts longer. One that ends further ahead than the second was taken by a clock that was ahead. */
export const RUN_LEASE_MS_MAX = RUN_MS_MAX;
export const RUN_LEASE_AHEAD_MS = 2 * RUN_LEASE_MS_MAX;

/** Runs of a reconciliation that are kept, and findings in quarantine that are listed. */
export const RUNS_KEPT = 50;
export const QUARANTINED_LISTED_MAX = 100;

/** Findings of effects that are no longer open, deleted at the end of a scan. */
export const FINDINGS_SWEPT_MAX = 10_000;

function assertRelation(holds: boolean, relation: string): void {
  if (!holds) throw new Error(`limits: ${relation}`);
}

assertRelation(SETTLE_MARGIN_MS < LEASE_MS_MAX, "the settle margin is shorter than a lease");
assertRelation(
  FLUSH_AFTER_MS >= LEASE_MS_MAX,
  "one alarm at the lease's end also finds an undelivered outbox",
);
assertRelation(
  STALE_AFTER_MS > LEASE_MS_MAX + FLUSH_AFTER_MS,
  "a dispatch whose lease ran out has told so before it is stale",
);
assertRelation(
  INLINE_BYTES_MAX + OUTBOX_ENTRIES_MAX * 600 < ROW_BYTES_MAX,
  "record, answer and outbox fit one row",
);
assertRelation(
  INLINE_BYTES_MAX + OUTBOX_ENTRIES_MAX * 600 + REPORTED_CHARS_MAX < ROW_BYTES_MAX,
  "record, answer and an outbox with reported effects fit one row",
);
// An id, a capability and up to four digests of 32 characters, at most, for each.
assertRelation(REPORTED_OF_LIFE_MAX * 400 < ROW_BYTES_MAX, "the reported effects of a life fit one row");
assertRelation(
  OBSERVED_WAITING_MAX <= OBSERVED_OUTBOX_MAX && 2 * OBSERVED_OUTBOX_MAX <= OUTBOX_ENTRIES_MAX,
  "observations fit, and leave half of the outbox to changes of state",
);
assertRelation(CACHED_ANSWER_BYTES_MAX <= INLINE_BYTES_MAX, "a cached answer is never chunked");
