// Aim: a log may be hashed and signed as it should be and still tell what can't have happened. Method: such logs, signed by the key.
import { describe, expect, it } from "vitest";
import { readDatabase, verifyLedger } from "../../../src/verify/verify.mjs";
import { emptyLog, storeLogs, streamName, type Told, tell, Writer } from "../../support/ledger-log.ts";

type Step = [type: string, attempt: number, changes?: Record<string, unknown>];

const stream = streamName(1);

function told([type, attempt, changes = {}]: Step): Told {
  return { ...tell(type, stream, attempt), ...changes };
}

async function judge(steps: Step[]) {
  const writer = new Writer(emptyLog());
  for (const step of steps) writer.add(stream, told(step));
  writer.checkpoint();
  const database = storeLogs([writer.log]);
  return (await verifyLedger(readDatabase(database), { key: writer.log.key.vkey })).verdict;
}

describe("a stream that can have happened", () => {
  it.each<[string, Step[]]>([
    ["is open", [["granted", 1]]],
    [
      "is settled by a probe",
      [
        ["granted", 1],
        ["unknown", 1],
        ["settled", 1, { actor: "probe" }],
      ],
    ],
    [
      "is settled without an answer",
      [
        ["granted", 1],
        ["settled", 1, { status: undefined, answer_digest: undefined }],
      ],
    ],
    [
      "is granted again where repeats are harmless",
      [
        ["granted", 1],
        ["unknown", 1],
        ["fenced", 1],
        ["granted", 2],
        ["late", 1],
      ],
    ],
    [
      "hears of an attempt of an earlier life",
      [
        ["granted", 1],
        ["late", 1, { effect_id: "of-another-life" }],
      ],
    ],
    [
      "tells what callers were told in each of its states",
      [
        ["granted", 1],
        ["observed", 1, { code: "in-flight" }],
        ["observed", 1, { code: "key-reused" }],
        ["unknown", 1],
        ["observed", 1, { code: "outcome-unknown" }],
        ["observed", 1, { code: "not-authorized" }],
        ["released", 1],
        ["observed", 1, { code: "key-reused" }],
        ["granted", 2],
        ["settled", 2],
        ["observed", 2, { code: "replayed" }],
        ["observed", 2, { code: "answer-not-kept" }],
        ["observed", 2, { code: "store-unavailable" }],
        ["observed", 2, { code: "key-expired" }],
        ["purged", 2],
      ],
    ],
    [
      "is released and purged",
      [
        ["granted", 1],
        ["released", 1],
        ["contradiction", 1],
        ["purged", 1],
      ],
    ],
  ])("%s", async (_what, steps) => {
    expect((await judge(steps)).verdict).toBe("sound");
  });
});

describe("a stream that can't have happened", () => {
  const settled: Step[] = [
    ["granted", 1],
    ["settled", 1],
  ];
  it.each<[string, Step[], Step]>([
    ["does not begin with a grant", [], ["settled", 1]],
    ["begins with the second attempt", [], ["granted", 2]],
    [
      "skips an attempt",
      [
        ["granted", 1],
        ["released", 1],
      ],
      ["granted", 3],
    ],
    [
      "grants another attempt beside one that may still settle",
      [
        ["granted", 1],
        ["unknown", 1],
      ],
      ["granted", 2],
    ],
    ["fences an attempt whose outcome is known", settled, ["fenced", 1]],
    [
      "settles an attempt that was fenced",
      [
        ["granted", 1],
        ["unknown", 1],
        ["fenced", 1],
      ],
      ["settled", 1, { code: "resolved" }],
    ],
    ["grants while in flight", [["granted", 1]], ["granted", 2]],
    ["grants after it was settled", settled, ["granted", 2]],
    [
      "grants another request under the same key",
      [
        ["granted", 1],
        ["released", 1],
      ],
      ["granted", 2, { fp: "a".repeat(64) }],
    ],
    [
      "grants two attempts with one effect id",
      [
        ["granted", 1],
        ["released", 1],
      ],
      ["granted", 2, { effect_id: `${stream.slice(0, 20)}-1` }],
    ],
    ["is settled twice", settled, ["settled", 1]],
    ["is released after it was settled", settled, ["released", 1]],
    ["is unknown after it was settled", settled, ["unknown", 1]],
    ["is unknown for a reason that is none", [["granted", 1]], ["unknown", 1, { code: "boredom" }]],
    [
      "is settled by an attempt that is over",
      [
        ["granted", 1],
        ["released", 1],
        ["granted", 2],
      ],
      ["settled", 1],
    ],
    ["is settled by a probe while in flight", [["granted", 1]], ["settled", 1, { actor: "probe" }]],
    ["is settled by operators while in flight", [["granted", 1]], ["settled", 1, { actor: "operator:op1" }]],
    [
      "is released by a probe on a status",
      [
        ["granted", 1],
        ["unknown", 1],
      ],
      ["released", 1, { actor: "probe" }],
    ],
    ["is proposed while in flight", [["granted", 1]], ["proposed", 1]],
    [
      "is proposed by nobody",
      [
        ["granted", 1],
        ["unknown", 1],
      ],
      ["proposed", 1, { actor: "executor" }],
    ],
    ["is settled by its executor with grounds", [["granted", 1]], ["settled", 1, { code: "checked" }]],
    ["is contradicted with grounds by nobody", settled, ["contradiction", 1, { code: "checked" }]],
    ["is contradicted by its executor", settled, ["contradiction", 1, { actor: "executor" }]],
    ["is contradicted before it is known", [["granted", 1]], ["contradiction", 1]],
    ["is late for the current attempt", [["granted", 1]], ["late", 1]],
    [
      "is purged while its outcome is unknown",
      [
        ["granted", 1],
        ["unknown", 1],
      ],
      ["purged", 1],
    ],
    ["goes on after it was purged", [...settled, ["purged", 1]], ["late", 2]],
    ["tells a phase that is not its own", [["granted", 1]], ["settled", 1, { phase: "failed" }]],
    ["is settled by nobody", [["granted", 1]], ["settled", 1, { actor: undefined }]],
    ["has an entry of an unknown type", [["granted", 1]], ["forgotten", 1]],
    ["resolves what was never in doubt", [["granted", 1]], ["settled", 1, { code: "resolved" }]],
    ["is released out of a doubt that nobody had", [["granted", 1]], ["released", 1, { code: "resolved" }]],
    [
      "is settled out of a doubt without saying so",
      [
        ["granted", 1],
        ["unknown", 1],
      ],
      ["settled", 1, { code: undefined }],
    ],
    [
      "resolves by a probe, which need not say so",
      [
        ["granted", 1],
        ["unknown", 1],
      ],
      ["settled", 1, { actor: "probe", code: "resolved" }],
    ],
    [
      "resolves a doubt with another word",
      [
        ["granted", 1],
        ["unknown", 1],
      ],
      ["settled", 1, { code: "solved" }],
    ],
    ["is replayed before it was settled", [["granted", 1]], ["observed", 1, { code: "replayed" }]],
    ["is in flight after it was settled", settled, ["observed", 1, { code: "in-flight" }]],
    ["is in doubt while in flight", [["granted", 1]], ["observed", 1, { code: "outcome-unknown" }]],
    [
      "has expired without an answer",
      [
        ["granted", 1],
        ["released", 1],
      ],
      ["observed", 1, { code: "key-expired" }],
    ],
    ["tells a caller what no caller is told", settled, ["observed", 1, { code: "constructor" }]],
    ["tells a caller nothing", settled, ["observed", 1]],
    ["tells a caller of an attempt that was not granted", settled, ["observed", 2, { code: "replayed" }]],
    ["tells a caller before its first grant", [], ["observed", 1, { code: "key-reused" }]],
    [
      "tells a caller after it was purged",
      [...settled, ["purged", 1]],
      ["observed", 1, { code: "replayed" }],
    ],
    ["prunes from a key's stream", [["granted", 1]], ["prune", 1]],
  ])("%s", async (_what, before, last) => {
    const verdict = await judge([...before, last]);

    expect(verdict).toMatchObject({ verdict: "broken", first: { class: "legality", index: before.length } });
  });
});

describe("a line that is signed and no entry", () => {
  it.each<[string, Record<string, unknown>]>([
    ["has an effect id that is too long", { effect_id: "e".repeat(65) }],
    ["has an effect id with a space", { effect_id: "e 1" }],
    ["has an empty effect id", { effect_id: "" }],
    ["has a capability that is none", { capability: "Origin.Request" }],
    ["has a phase that is none", { phase: "done" }],
    ["has attempt 0", { attempt: 0 }],
    ["has half an attempt", { attempt: 1.5 }],
    ["has a text where a number belongs", { attempt: "1" }],
    ["has null where a member can be left out", { fp: null }],
    ["has a fingerprint of another length", { fp: "AAAA" }],
    ["has a fingerprint that is not in hex", { fp: "A".repeat(43) }],
  ])("%s", async (_what, changes) => {
    const verdict = await judge([["granted", 1, changes]]);

    expect(verdict).toMatchObject({ verdict: "broken", first: { class: "encoding", index: 0 } });
  });
});
