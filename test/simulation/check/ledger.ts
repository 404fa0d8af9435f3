/** What has to be true of the ledger: I4 to I6, I15, I16, and that what is shown is signed over what is there. Shares no code with its writer. */
import { hash } from "node:crypto";
import { type LedgerView, type Line, rowsOf, type Stored } from "./history.ts";
import type { Invariant } from "./safety.ts";
import type { View } from "./view.ts";

const CANARY = /canary-(key|alice|body)/;
const START = "0".repeat(64);

type Lines = { line: Line; text: string }[];

const parsed = new WeakMap<LedgerView, ReadonlyMap<string, Lines>>();

/** Lines by stream, in the order of the log. */
function streamsOf(ledger: LedgerView): ReadonlyMap<string, Lines> {
  const known = parsed.get(ledger);
  if (known !== undefined) return known;
  const streams = new Map<string, Lines>();
  for (const { texts } of ledger.lines ?? []) {
    for (const text of texts) {
      const line = JSON.parse(text) as Line;
      const list = streams.get(line.stream);
      if (list === undefined) streams.set(line.stream, [{ line, text }]);
      else list.push({ line, text });
    }
  }
  parsed.set(ledger, streams);
  return streams;
}

/** I5: entries are there once, in the order of their streams, each naming the one before, indexes without a gap. */
function linesAreWhole({ history }: View): string | null {
  const { ledger } = history;
  for (const { shard, texts } of ledger.lines ?? []) {
    for (const [index, text] of texts.entries()) {
      if (!text.startsWith(`{"v":1,"shard":"${shard}","index":${index},`))
        return `${shard}: line ${index} is out of place`;
    }
  }
  for (const [stream, lines] of streamsOf(ledger)) {
    let prev = START;
    for (const [i, { line, text }] of lines.entries()) {
      if (line.seq !== i + 1) return `${stream}: number ${line.seq} behind ${i}`;
      if (line.prev !== prev) return `${stream}: entry ${line.seq} names another one before it`;
      prev = hash("sha256", text.replace(/"shard":"[^"]*","index":\d+,/, ""), "hex");
    }
  }
  return null;
}

/** I5: everything that a key had to tell is there once the faults are over, and nothing that it never told. */
function nothingIsUntold({ history, keys }: View): string | null {
  const { ledger } = history;
  if (ledger.lines === null) return null;
  const byEffect = new Map<string, Lines>();
  for (const lines of streamsOf(ledger).values()) {
    for (const { line } of lines) if (line.type === "granted") byEffect.set(String(line.effect_id), lines);
  }
  for (const { stored, key } of keys.values()) {
    const told = new Map<string, { last: Stored; isOver: boolean }>();
    for (const { before, after } of stored) {
      const isOver = before !== null && after?.inc !== before.inc;
      if (isOver) told.set(before.inc, { last: before, isOver });
      if (after !== null) told.set(after.inc, { last: after, isOver: false });
    }
    for (const { last, isOver } of told.values()) {
      const lines = byEffect.get(last.effect) ?? [];
      const wanted = last.told + (isOver ? 1 : 0);
      if (lines.length !== wanted) return `${key}: ${lines.length} entries of ${wanted} are in the ledger`;
      if (isOver && lines.at(-1)?.line.type !== "purged") return `${key}: a stream ends without a word`;
    }
  }
  return null;
}

type Place = { state: string; attempt: number };

function follow(place: Place, { type, attempt: given = 0 }: Line): Place | null {
  const { state, attempt } = place;
  const isOpen = state === "in-flight" || state === "unknown";
  switch (type) {
    case "granted":
      if (state !== "fenced" && state !== "released" && state !== "start") return null;
      return given === attempt + 1 ? { state: "in-flight", attempt: given } : null;
    case "settled":
    case "released":
      return isOpen && given === attempt ? { state: type, attempt } : null;
    case "unknown":
      return state === "in-flight" && given === attempt ? { state: "unknown", attempt } : null;
    case "fenced":
      return state === "unknown" && given === attempt ? { state: "fenced", attempt } : null;
    case "proposed":
      return state === "unknown" && given === attempt ? { state, attempt } : null;
    case "purged":
      return state === "settled" || state === "released" ? { state: "purged", attempt } : null;
    // A shard's own word on what it deletes.
    case "prune":
      return place;
    case "observed":
    case "late":
    case "contradiction":
      return state === "purged" ? null : { state, attempt };
    default:
      return null;
  }
}

/** I15: a stream is a path of the machine. Under `hold` nothing is granted while the outcome is open. */
function streamsArePaths({ history, grants }: View): string | null {
  for (const [stream, lines] of streamsOf(history.ledger)) {
    let place: Place = { state: "start", attempt: 0 };
    for (const { line } of lines) {
      const next = follow(place, line);
      if (next === null) return `${stream}: ${line.type} ${line.attempt} in ${place.state} ${place.attempt}`;
      const rules = grants.get(String(line.effect_id))?.rules;
      if (line.type === "fenced" && rules?.onCrash === "hold") {
        return `${stream}: granted again while the outcome was unknown`;
      }
      place = next;
    }
  }
  return null;
}

/** I4: every grant has one end: settled, released, run again where that is allowed, or still unknown, and then its key says so too. */
function everyGrantEnds({ history }: View): string | null {
  if (history.ledger.lines === null) return null;
  const open = new Set(
    history.left.flatMap(({ stored }) => (stored?.state === "unknown" ? [stored.effect] : [])),
  );
  for (const lines of streamsOf(history.ledger).values()) {
    const ends = new Map<string, number>();
    let last = "";
    for (const { line } of lines) {
      const effect = String(line.effect_id);
      if (line.type === "granted") last = effect;
      if (line.type === "settled" || line.type === "released") ends.set(effect, (ends.get(effect) ?? 0) + 1);
    }
    for (const [effect, count] of ends) if (count > 1) return `${effect} ended ${count} times`;
    if (last !== "" && !ends.has(last) && !open.has(last)) return `${last} was granted and never ended`;
  }
  return null;
}

/** What each entry makes of its effect; a late answer is the last word on an attempt of which no record speaks. */
const STATES: Readonly<Record<string, string>> = {
  granted: "intent",
  settled: "committed",
  released: "failed",
  unknown: "unknown",
  fenced: "fenced",
  late: "committed",
};

/** I6: what the effects table says of a dispatch is what its stream says, and never contradicts the origin's own journal. */
function verdictsAreTrue({ history, executed }: View): string | null {
  const { database } = history.ledger;
  if (database === null) return null;
  const states = new Map<string, string>();
  for (const [stream, lines] of streamsOf(history.ledger)) {
    for (const { line } of lines) {
      const state = STATES[line.type];
      if (state !== undefined) states.set(`${stream} ${String(line.effect_id)}`, state);
    }
  }
  for (const row of database.effects) {
    const effect = String(row.effect_id);
    const state = states.get(`${String(row.stream)} ${effect}`);
    if (row.state !== state) return `${effect} is ${String(row.state)}, its stream says ${state}`;
    if (row.state === "failed" && executed.has(effect))
      return `${effect} is said to have failed and was executed`;
  }
  if (database.effects.length !== states.size)
    return `${database.effects.length} of ${states.size} effects are listed`;
  return null;
}

const PUBLISHED_WITHIN_MS = 60_000;

/** L3: D1 has what the shards have. I5: a checkpoint's root is the root of what lies under it, and none is taken back. */
function theDatabaseCatchesUp({ history }: View): string | null {
  const { lines, database, shown } = history.ledger;
  if (lines === null || database === null) return null;
  for (const [i, { shard, texts, ats }] of lines.entries()) {
    const { first, texts: stored } = database.lines[i] ?? { first: 0, texts: [] };
    // A shard may have told of what it deletes a moment ago.
    const due = ats.filter((at) => at <= history.endedAt - PUBLISHED_WITHIN_MS).length;
    if (first + stored.length < due)
      return `${shard}: ${stored.length} of ${texts.length} lines are published`;
    if (stored.some((text, at) => text !== texts[first + at])) return `${shard}: another line is published`;
    for (const { size, root } of database.checkpoints.filter((one) => one.shard === shard)) {
      if (size > texts.length || rootOf(texts.slice(0, size)) !== root)
        return `${shard}: the checkpoint of ${size} is not of this log`;
    }
    let size = 0;
    for (const checkpoint of shown) {
      if (checkpoint.shard !== shard) continue;
      if ((checkpoint.published ?? 0) < checkpoint.size)
        return `${shard}: a checkpoint was shown before what it covers`;
      if (checkpoint.size < size)
        return `${shard}: a checkpoint of ${checkpoint.size} was shown after one of ${size}`;
      size = checkpoint.size;
    }
  }
  return null;
}

function sha256(...parts: readonly Uint8Array[]): Uint8Array {
  return Buffer.from(hash("sha256", Buffer.concat(parts), "hex"), "hex");
}

/** RFC 6962 section 2.1, by its own recursion. */
export function rootOf(texts: readonly string[]): string {
  const tree = (from: number, to: number): Uint8Array => {
    if (to - from === 1) return sha256(Uint8Array.of(0), new TextEncoder().encode(texts[from]));
    let split = 1;
    while (split * 2 < to - from) split *= 2;
    return sha256(Uint8Array.of(1), tree(from, from + split), tree(from + split, to));
  };
  return Buffer.from(tree(0, texts.length)).toString("hex");
}

/** I16: nothing that a client keeps to itself is in a log line or in the ledger. */
function nothingSecretIsTold({ history }: View): string | null {
  const logged = rowsOf(history.rows, "log").find(({ text }) => CANARY.test(text));
  if (logged !== undefined) return `a log line holds a secret: ${logged.text}`;
  const told = (history.ledger.lines ?? []).flatMap(({ texts }) => texts).find((text) => CANARY.test(text));
  return told === undefined ? null : `an entry holds a secret: ${told}`;
}

/** I20: who does not hold the lease changes nothing of what it protects. */
function leasesAreHeld({ history }: View): string | null {
  const wrong = rowsOf(history.rows, "lease").find(
    ({ isTaking, isHeld, isEarly, isChanged }) => isChanged && (isTaking ? isEarly : !isHeld),
  );
  if (wrong === undefined) return null;
  return wrong.isTaking ? "a lease was taken from its holder" : "a reconciliation wrote without its lease";
}

const OPERATORS_REQUIRED = 2;

/** I4: what operators have resolved was said by enough of them, of that very effect. */
function operatorsAgree({ history, keys }: View): string | null {
  const said = rowsOf(history.rows, "resolve");
  for (const { stored } of keys.values()) {
    for (const { after, before, at } of stored) {
      if (after === null || before?.state !== "unknown") continue;
      const isOperators = after.actor?.startsWith("operator") === true || after.evidence === "operator";
      if (!isOperators || after.state === "unknown" || after.effect !== before.effect) continue;
      const outcome = after.state === "settled" ? "committed" : "not-committed";
      const names = said.filter(
        (row) => row.effect === after.effect && row.outcome === outcome && row.at <= at,
      );
      if (new Set(names.map(({ operator }) => operator)).size < OPERATORS_REQUIRED) {
        return `${after.effect} was resolved by the word of ${names.length}`;
      }
    }
  }
  return null;
}

export const LEDGER = {
  "I4 operators": operatorsAgree,
  I20: leasesAreHeld,
  I4: everyGrantEnds,
  I5: linesAreWhole,
  "I5 whole": nothingIsUntold,
  I6: verdictsAreTrue,
  I15: streamsArePaths,
  I16: nothingSecretIsTold,
  L3: theDatabaseCatchesUp,
} as const satisfies Record<string, Invariant>;
