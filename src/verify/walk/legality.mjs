// @ts-check
/**
 * Whether a stream's entries are a path of the key's state machine. Written from the picture of the machine, not from its code:
 *
 *   granted 1 ─▶ in-flight ─▶ settled ─▶ purged
 *                 │   └─▶ unknown ─▶ settled, released, or (where repeats are harmless) granted n+1
 *                 └─▶ released ─▶ granted n+1, or purged
 *
 * What an origin reports of effects of its own may come at any time in between; `effects.mjs` judges their phases. A settle with an old token is `late`, a second truth is a `contradiction`, an operator's first word is `proposed`: they change nothing.
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
/** A shard's own stream, which tells what was pruned and nothing else. */
const OWN = 6;
/** The stream's first entries are pruned, and those since don't tell what state it is in. */
const ANY = 7;
const STATE_NAMES = ["new", "in-flight", "unknown", "settled", "released", "purged", "a shard's own entries"];

const DISPATCH = "origin.request";
const PRUNE = "prune";
const PRUNING = "ledger.prune";
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
  granted: { from: [NEW, UNKNOWN, RELEASED], to: IN_FLIGHT, phase: "intent", must: ["fp"], may: [] },
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
  if (line.type === PRUNE) return judgePrune(row, line, isKnown);
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
 * @param {boolean} isKnown
 */
function judgePrune(row, line, isKnown) {
  const isOwn = row.state === NEW || row.state === OWN || !isKnown;
  row.state = OWN;
  if (!isOwn || line.stream !== ownStream(line.shard))
    return "a prune entry outside of its shard's own stream";
  if (line.capability !== PRUNING || line.actor !== "ledger") return "a prune entry that is not the ledger's";
  if (line.effectId !== undefined || line.attempt !== undefined) return "a prune entry with an effect";
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
    const isOwn = line.capability === undefined || [DISPATCH, PRUNING].includes(line.capability);
    if (isOwn || line.phase === undefined) return `${line.type} is not of an effect that was reported`;
  } else if (line.capability !== DISPATCH) return `${line.type} is not of a dispatch`;
  else if (line.phase !== phase) return `${line.type} tells a phase that is not its own`;
  for (const name of OPTIONAL) {
    const isThere = line[name] !== undefined;
    if (!isThere && must.includes(name)) return `${line.type} has no ${name}`;
    if (isThere && !must.includes(name) && !may.includes(name)) return `${line.type} has a ${name}`;
  }
  return line.type === "unknown" && !REASONS.includes(line.code ?? "")
    ? "no outcome is unknown for this reason"
    : null;
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
  const isCurrent = line.attempt === row.attempt && row.isKept("effect", line.effectId ?? "");
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
  if (hasGrounds && kind !== "operator") return "grounds that only operators give";
  if (line.type === "contradiction")
    return kind === "operator" ? null : "only operators contradict in their own name";
  if (line.type === "proposed") return kind === "operator" ? null : "only operators propose";
  // Probes and operators are asked about unknown outcomes only.
  return !isBlind && kind !== "executor" && row.state !== UNKNOWN
    ? `${line.type} by ${kind} while in flight`
    : null;
}
