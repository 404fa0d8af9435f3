// @ts-check
/**
 * Whether a stream's entries are a path of the key's state machine. Written from the picture of the machine, not from its code:
 *
 *   granted 1 ─▶ in-flight ─▶ settled ─▶ purged
 *                 │   └─▶ unknown ─▶ settled, released, or (where repeats are harmless) fenced ─▶ granted n+1
 *                 └─▶ released ─▶ granted n+1, or purged
 *
 * What an origin reports of effects of its own may come at any time in between; `effects.mjs` judges their phases. A settle with an old token is `late`, a second truth is a `contradiction`, an operator's first word is `proposed`, what a caller was told is `observed`: they change nothing.
 */

import { hashBytes } from "../tree.mjs";

/** @import { Line } from "../types.ts" */
/** @import { StreamTable } from "./streams.mjs" */

const NEW = 0;
const IN_FLIGHT = 1;
const UNKNOWN = 2;
const SETTLED = 3;
const RELEASED = 4;
const PURGED = 5;
/** A shard's own stream, which tells how it began and ended, what was pruned, and nothing else. */
const OWN = 6;
/** The stream's first entries are pruned, and those since don't tell what state it is in. */
const ANY = 7;
/** Another attempt follows, and nothing else can. */
const FENCED = 8;
const STATE_NAMES = [
  "new",
  "in-flight",
  "unknown",
  "settled",
  "released",
  "purged",
  "a shard's own entries",
  "anything",
  "fenced",
];

/** What an executor's entry says that ends an unknown outcome; probes and operators end no others. */
const RESOLVED = "resolved";

const DISPATCH = "origin.request";
const PRUNING = "ledger.prune";
const SPLITTING = "ledger.epoch";
/** What a shard tells of itself, and as which capability. @type {Record<string, string>} */
const OWN_TYPES = { prune: PRUNING, opened: SPLITTING, closed: SPLITTING };
const REASONS = [
  "timeout",
  "connection-lost",
  "body-broken",
  "path-status",
  "server-error",
  "lease-over",
  "object-restarted",
  "store-failed",
];
/** Who may say what proves that an attempt had no effect. */
const EVIDENCE_BY = /** @type {Record<string, string[]>} */ ({
  executor: ["never-dispatched", "signed-none", "protocol-none", "status-list"],
  probe: ["sealed-none", "observed-none"],
  operator: ["operator"],
});

/** Why an operator says what he says: a reason, a reference, and a digest of both. */
const GROUNDS = ["code", "target", "digest"];
/** What callers can be told without a change, and in which state; null: in any that lives. */
const SEEN_IN = /** @type {Record<string, number | null>} */ ({
  replayed: SETTLED,
  "answer-not-kept": SETTLED,
  "key-expired": SETTLED,
  "in-flight": IN_FLIGHT,
  "outcome-unknown": UNKNOWN,
  "key-reused": null,
  "not-authorized": null,
  "store-unavailable": null,
});

const LIVE = [IN_FLIGHT, UNKNOWN, SETTLED, RELEASED];
/** What an origin says of effects of its own: they have a capability that is not a dispatch's, and any phase. */
const REPORT = {
  from: LIVE,
  to: null,
  phase: "any",
  must: [],
  may: ["target", "cost", "digest", "code"],
};

/**
 * What each type of entry is. `from`: states it may come in; `to`: the state after it, null: the same; `phase`: what it tells of the
 * dispatch; `must` and `may`: members beside those that every entry has.
 * @type {Record<string, { from: number[], to: number | null, phase: string | undefined, must: string[], may: string[] }>}
 */
const TYPES = {
  granted: { from: [NEW, FENCED, RELEASED], to: IN_FLIGHT, phase: "intent", must: ["fp"], may: [] },
  settled: {
    from: [IN_FLIGHT, UNKNOWN],
    to: SETTLED,
    phase: "committed",
    must: ["actor"],
    may: ["status", "answerDigest", ...GROUNDS],
  },
  released: {
    from: [IN_FLIGHT, UNKNOWN],
    to: RELEASED,
    phase: "failed",
    must: ["evidence", "actor"],
    may: GROUNDS,
  },
  unknown: { from: [IN_FLIGHT], to: UNKNOWN, phase: undefined, must: ["code"], may: [] },
  fenced: { from: [UNKNOWN], to: FENCED, phase: undefined, must: [], may: [] },
  late: {
    from: [IN_FLIGHT, UNKNOWN, SETTLED, RELEASED],
    to: null,
    phase: undefined,
    must: [],
    may: ["answerDigest"],
  },
  contradiction: {
    from: [SETTLED, RELEASED],
    to: null,
    phase: undefined,
    must: [],
    may: ["answerDigest", "actor", ...GROUNDS],
  },
  proposed: { from: [UNKNOWN], to: null, phase: undefined, must: ["actor"], may: GROUNDS },
  observed: { from: LIVE, to: null, phase: undefined, must: ["code"], may: [] },
  purged: { from: [SETTLED, RELEASED], to: PURGED, phase: undefined, must: [], may: [] },
  effect: REPORT,
  "effect-contradiction": REPORT,
};

const OPTIONAL = /** @type {const} */ ([
  "target",
  "cost",
  "digest",
  "fp",
  "status",
  "answerDigest",
  "evidence",
  "actor",
  "code",
]);

/**
 * Judges one entry against what its stream has been so far, and moves the stream's row on.
 * @param {StreamTable} row Stands at the line's stream.
 * @param {Line} line
 * @param {boolean} isKnown False: the entries before this one are pruned, so that only its own members can be judged.
 * @returns {string | null} Why it is illegal, null when it is not.
 */
export function judgeLine(row, line, isKnown) {
  const own = OWN_TYPES[line.type];
  if (own !== undefined) return judgeOwn(row, line, own, isKnown);
  const type = TYPES[line.type];
  if (type === undefined) return "no entry has this type";
  const isBlind = !isKnown || row.state === ANY;
  const why =
    judgeMembers(line, type) ??
    (isBlind ? null : judgeMove(row, line, type)) ??
    judgeActor(row, line, isBlind);
  if (type.to !== null) {
    row.state = type.to;
    row.attempt = line.attempt ?? 0;
    row.keep("effect", line.effectId ?? "");
  } else if (isBlind) {
    row.state = ANY;
  }
  if (line.fp !== undefined) row.keep("fp", line.fp);
  return why;
}

/**
 * @param {StreamTable} row
 * @param {Line} line
 * @param {string} capability
 * @param {boolean} isKnown
 */
function judgeOwn(row, line, capability, isKnown) {
  const isOwn = row.state === NEW || row.state === OWN || !isKnown;
  row.state = OWN;
  if (!isOwn || line.stream !== ownStream(line.shard))
    return `${line.type} outside of its shard's own stream`;
  if (line.capability !== capability || line.actor !== "ledger") return `${line.type} is not the ledger's`;
  if (line.effectId !== undefined || line.attempt !== undefined) return `${line.type} with an effect`;
  return null;
}

/**
 * Name of the stream in which a shard tells of itself.
 * @param {string} shard
 */
function ownStream(shard) {
  return hashBytes(Buffer.from(`oncegate shard ${shard}`)).toString("hex");
}

/**
 * @param {Line} line
 * @param {{ phase: string | undefined, must: string[], may: string[] }} type
 */
function judgeMembers(line, { phase, must, may }) {
  if (line.effectId === undefined || line.attempt === undefined) return `${line.type} names no attempt`;
  if (phase === "any") {
    const isOwn = line.capability === undefined || [DISPATCH, PRUNING, SPLITTING].includes(line.capability);
    if (isOwn || line.phase === undefined) return `${line.type} is not of an effect that was reported`;
  } else if (line.capability !== DISPATCH) return `${line.type} is not of a dispatch`;
  else if (line.phase !== phase) return `${line.type} tells a phase that is not its own`;
  for (const name of OPTIONAL) {
    const isThere = line[name] !== undefined;
    if (!isThere && must.includes(name)) return `${line.type} has no ${name}`;
    if (isThere && !must.includes(name) && !may.includes(name)) return `${line.type} has a ${name}`;
  }
  if (line.type === "unknown" && !REASONS.includes(line.code ?? ""))
    return "no outcome is unknown for this reason";
  return line.type === "observed" && !Object.hasOwn(SEEN_IN, line.code ?? "")
    ? "nobody is told this of a key"
    : null;
}

/** @param {Line} line */
function isBare({ target, digest }) {
  return target === undefined && digest === undefined;
}

/** @param {Line} line */
function isEnd({ type }) {
  return type === "settled" || type === "released";
}

/**
 * @param {StreamTable} row
 * @param {Line} line
 * @param {{ from: number[] }} type
 */
function judgeMove(row, line, { from }) {
  const state = row.state;
  const where = STATE_NAMES[state];
  if (!from.includes(state)) return `${line.type} can't follow ${where}`;
  if (line.type === "granted") {
    const next = state === NEW ? 1 : row.attempt + 1;
    if (line.attempt !== next) return `attempt ${line.attempt} was granted where ${next} is next`;
    if (state !== NEW && !row.isPartial && line.fp !== undefined && !row.isKept("fp", line.fp)) {
      return "another request was granted under the same key";
    }
    return state !== NEW && row.isKept("effect", line.effectId ?? "")
      ? "two attempts have one effect id"
      : null;
  }
  if (TYPES[line.type] === REPORT) {
    return (line.attempt ?? 0) > row.attempt ? `${line.type} of an attempt that was not granted` : null;
  }
  const seenIn = line.type === "observed" ? (SEEN_IN[line.code ?? ""] ?? state) : state;
  if (seenIn !== state) return `${line.code} can't have been told ${where}`;
  const isCurrent = line.attempt === row.attempt && row.isKept("effect", line.effectId ?? "");
  const isExecutors = line.actor === "executor" && isEnd(line);
  if (isExecutors && (line.code === RESOLVED) !== (state === UNKNOWN)) {
    return state === UNKNOWN
      ? `${line.type} does not say what it resolves`
      : `${line.type} resolves no doubt`;
  }
  if (line.type === "late") return isCurrent ? "the current attempt can't be late" : null;
  return isCurrent ? null : `${line.type} is not of the current attempt`;
}

/**
 * @param {StreamTable} row
 * @param {Line} line
 * @param {boolean} isBlind
 */
function judgeActor(row, line, isBlind) {
  const hasGrounds = [line.code, line.target, line.digest].some((member) => member !== undefined);
  if (line.actor === undefined) {
    return hasGrounds && line.type === "contradiction" ? "grounds that nobody gives" : null;
  }
  const kind = line.actor.startsWith("operator:") ? "operator" : line.actor;
  const allowed = EVIDENCE_BY[kind];
  if (allowed === undefined) return `${line.type} by an actor that can't`;
  if (line.evidence !== undefined && !allowed.includes(line.evidence))
    return "evidence that its actor can't have";
  const isResolving = kind === "executor" && line.code === RESOLVED;
  if (kind !== "operator" && hasGrounds && !(isResolving && isBare(line)))
    return "grounds that only operators give";
  if (line.type === "contradiction")
    return kind === "operator" ? null : "only operators contradict in their own name";
  if (line.type === "proposed") return kind === "operator" ? null : "only operators propose";
  // Probes and operators are asked about unknown outcomes only.
  return !isBlind && kind !== "executor" && row.state !== UNKNOWN
    ? `${line.type} by ${kind} while in flight`
    : null;
}
