// @ts-check
/** One line of the ledger: member order, types and bounds, read by one pattern, so that every line has one spelling. */

/** @import { Line } from "../types.ts" */

const COST_AXES_MAX = 8;
const LINE_BYTES_MAX = 4_096;
/** Bound of `seq` and `attempt`. */
const COUNT_MAX = 0xffff_ffff;

const hex = "[0-9a-f]{64}";
const count = "(?:0|[1-9][0-9]{0,15})";
const positive = "[1-9][0-9]{0,15}";
/** Visible ASCII as JSON spells it: one character, or one of the two that have to be escaped. */
const visible = '(?:[!#-\\[\\]-~]|\\\\["\\\\])';
const token = "[a-z0-9][a-z0-9._-]{0,63}";
const capability = '(?=[a-z0-9._-]{1,128}["])[a-z][a-z0-9_-]*(?:\\.[a-z0-9][a-z0-9_-]*)*';
const actor = `(?:executor|probe|gateway|origin|ledger|operator:${visible}{1,64})`;
const evidence =
  "(?:never-dispatched|sealed-none|signed-none|protocol-none|observed-none|status-list|operator)";

/** Members in their order. `always`: without it a line is no entry. */
const MEMBERS = /** @type {const} */ ([
  { name: "v", value: "1", always: true },
  { name: "shard", value: `"(${positive}:${count})"`, always: true },
  { name: "index", value: `(${count})`, always: true },
  { name: "at", value: `(${count})`, always: true },
  { name: "type", value: `"([a-z][a-z-]{0,31})"`, always: true },
  { name: "stream", value: `"(${hex})"`, always: true },
  { name: "seq", value: `(${positive})`, always: true },
  { name: "prev", value: `"(${hex})"`, always: true },
  { name: "effect_id", value: `"(${visible}{1,64})"`, always: false },
  { name: "attempt", value: `(${positive})`, always: false },
  { name: "capability", value: `"(${capability})"`, always: false },
  { name: "phase", value: `"(intent|committed|failed|compensated)"`, always: false },
  { name: "target", value: `"(${visible}{1,128})"`, always: false },
  { name: "cost", value: `(\\{[^{}]*\\})`, always: false },
  { name: "digest", value: `"(${hex})"`, always: false },
  { name: "fp", value: `"(${hex})"`, always: false },
  { name: "status", value: `([1-9])`, always: false },
  { name: "answer_digest", value: `"(${hex})"`, always: false },
  { name: "evidence", value: `"(${evidence})"`, always: false },
  { name: "actor", value: `"(${actor})"`, always: false },
  { name: "code", value: `"(${token})"`, always: false },
]);

const LINE = new RegExp(
  `^\\{${MEMBERS.map(({ name, value, always }, i) => {
    const member = `${i === 0 ? "" : ","}"${name}":${value}`;
    return always ? member : `(?:${member})?`;
  }).join("")}\\}$`,
);
const AXIS = new RegExp(`^${capability.replace('["]', "$")}$`);

/**
 * Reads one line. A refusal says what is wrong with it.
 * @param {Buffer} bytes Without the line feed.
 * @returns {{ kind: "line", line: Line } | { kind: "refused", why: string }}
 */
export function readLine(bytes) {
  if (bytes.length > LINE_BYTES_MAX) return { kind: "refused", why: "the line is too long" };
  // Every allowed character is ASCII, so any other byte fails the pattern whatever it is read as.
  const text = bytes.toString("latin1");
  const match = LINE.exec(text);
  if (match === null) return { kind: "refused", why: explain(text) };
  const cost = match[13];
  if (cost !== undefined && !isCost(cost)) return { kind: "refused", why: "cost is not as it should be" };
  /** @type {Line} */
  const line = {
    shard: match[1] ?? "",
    index: Number(match[2]),
    at: Number(match[3]),
    type: match[4] ?? "",
    stream: match[5] ?? "",
    seq: Number(match[6]),
    prev: match[7] ?? "",
    effectId: match[8],
    attempt: numberOf(match[9]),
    capability: match[10],
    phase: match[11],
    target: match[12],
    cost,
    digest: match[14],
    fp: match[15],
    status: numberOf(match[16]),
    answerDigest: match[17],
    evidence: match[18],
    actor: match[19],
    code: match[20],
  };
  const isInBounds =
    [line.index, line.at].every(Number.isSafeInteger) &&
    line.seq <= COUNT_MAX &&
    (line.attempt ?? 0) <= COUNT_MAX;
  return isInBounds ? { kind: "line", line } : { kind: "refused", why: "a number is too large" };
}

/** @param {string | undefined} text */
function numberOf(text) {
  return text === undefined ? undefined : Number(text);
}

/**
 * The bytes over which a stream's hashes are taken: the line without `shard` and `index`.
 * @param {Buffer} bytes
 * @param {Line} line
 * @returns {Buffer}
 */
export function streamText(bytes, line) {
  const placed = `"shard":"${line.shard}","index":${line.index},`.length;
  const head = '{"v":1,'.length;
  return Buffer.concat([bytes.subarray(0, head), bytes.subarray(head + placed)]);
}

/** @param {string} text */
function isCost(text) {
  try {
    /** @type {unknown} */
    const read = JSON.parse(text);
    if (typeof read !== "object" || read === null || JSON.stringify(read) !== text) return false;
    const axes = Object.entries(read);
    return (
      axes.length >= 1 &&
      axes.length <= COST_AXES_MAX &&
      axes.every(([axis, value]) => AXIS.test(axis) && Number.isFinite(value) && value >= 0)
    );
  } catch {
    return false;
  }
}

/**
 * Why a line failed the pattern, as far as it can be told.
 * @param {string} text
 */
function explain(text) {
  /** @type {unknown} */
  let read;
  try {
    read = JSON.parse(text);
  } catch {
    return "the line is not JSON";
  }
  if (typeof read !== "object" || read === null || Array.isArray(read)) return "the line is not an object";
  const names = Object.keys(read);
  const known = MEMBERS.map(({ name }) => String(name));
  const unknown = names.find((name) => !known.includes(name));
  // The name itself may be anything: it is not repeated.
  if (unknown !== undefined) return "the line has a member that no entry has";
  const absent = MEMBERS.find(({ name, always }) => always && !names.includes(name));
  if (absent !== undefined) return `${absent.name} is missing`;
  for (const { name, value } of MEMBERS) {
    const spelled = JSON.stringify(/** @type {Record<string, unknown>} */ (read)[name]);
    if (names.includes(name) && !new RegExp(`^${value}$`).test(spelled))
      return `${name} is not as it should be`;
  }
  const order = known.filter((name) => names.includes(name));
  if (order.join() !== names.join()) return "the members are not in their order";
  return "the line is not in the one spelling an entry has";
}
