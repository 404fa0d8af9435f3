// Aim: nothing stored or shown by a ledger is read in two ways, and nothing makes a reader throw.
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ABSENT, type KeyRecord } from "../../src/core/record.ts";
import { step } from "../../src/core/step.ts";
import { decodeRecord, encodeRecord } from "../../src/key/storage/codec.ts";
import { readQuery } from "../../src/ledger/read/query.ts";
import { readBase64, readCheckpoint, readVerifierKey, splitNote } from "../../src/verify/note.mjs";
import { isConsistent, prefixFromPath, rootFromPath } from "../../src/verify/tree.mjs";
import { readLine, streamText } from "../../src/verify/walk/line.mjs";
import { World } from "../model/world.ts";
import { consistencyOf, makeKey, makeLog, pathOf, rootOf, sha256, signNote } from "../support/ledger-log.ts";
import { hold, mutated, textOf } from "./runs.ts";

const KEY = makeKey("oncegate/1:0");
const ROOT = Buffer.alloc(32, 9).toString("base64");
const NOTE = signNote(`oncegate/1:0\n12\n${ROOT}\n`, KEY);
const PIECES = ["\n", "\n\n", "\u2014", " ", "+", "=", "0", "A", "\0", "\r", "\ud800", "oncegate"];

describe("base64", () => {
  it("has one spelling", () => {
    hold(
      fc.property(
        fc.oneof(textOf(["A", "/", "+", "=", "B", "-", " ", "\n"], 12), mutated([ROOT], PIECES)),
        (text) => {
          const isOne =
            /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$/.test(
              text,
            );
          expect(readBase64(text) !== null).toBe(isOne && !text.includes("\n"));
        },
      ),
    );
  });
});

describe("a note", () => {
  const note = fc.oneof(
    mutated([NOTE, `${NOTE}\u2014 other ${ROOT}\n`], PIECES),
    fc.string({ unit: "binary" }),
  );

  it("that is read says what it was read from", () => {
    hold(
      fc.property(note, (text) => {
        const split = splitNote(text);
        if (split === null) return;
        const lines = split.signatures.map(
          ({ name, bytes }) => `\u2014 ${name} ${bytes.toString("base64")}\n`,
        );
        expect(`${split.text}\n${lines.join("")}`).toBe(text);
      }),
    );
  });

  it("is a checkpoint exactly where its first three lines are origin, size and root", () => {
    hold(
      fc.property(note, (text) => {
        const read = readCheckpoint(text);
        const [origin = "", size = "", root = "", ...more] = (splitNote(text)?.text ?? "").split("\n");
        const isSize = /^(0|[1-9]\d*)$/.test(size) && Number(size) <= Number.MAX_SAFE_INTEGER;
        const isRoot = /^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/.test(root);
        const isOne = origin !== "" && isSize && isRoot && more.length > 0;
        expect(read === null ? null : [read.origin, String(read.size), read.root.toString("base64")]).toEqual(
          isOne ? [origin, size, root] : null,
        );
      }),
    );
  });

  it("has a key of one form only", () => {
    hold(
      fc.property(mutated([KEY.vkey], PIECES), (text) => {
        const key = readVerifierKey(text);
        expect(key !== null).toBe(text.trim() === KEY.vkey);
      }),
    );
  });
});

const LEAVES = Array.from({ length: 40 }, (_, i) => sha256(Buffer.from([i])));
const hashes = fc.array(fc.constantFrom(...LEAVES.slice(0, 12)), { maxLength: 8 });

describe("a proof", () => {
  it("of a leaf holds for its own place and for no other", () => {
    const place = fc
      .integer({ min: 1, max: 40 })
      .chain((size) => fc.tuple(fc.nat(size - 1), fc.constant(size), fc.nat(40)));
    hold(
      fc.property(place, ([index, size, other]) => {
        const leaves = LEAVES.slice(0, size);
        const path = pathOf(index, leaves);
        const root = rootOf(leaves);
        const leaf = leaves[index] ?? Buffer.alloc(0);
        expect(rootFromPath(leaf, index, size, path)?.equals(root)).toBe(true);
        if (other !== index) expect(rootFromPath(leaf, other, size, path)?.equals(root) ?? false).toBe(false);
        expect(rootFromPath(leaf, index, size, [...path, leaf])).toBeNull();
      }),
    );
  });

  it("of growth holds for what grew and for nothing else", () => {
    const sizes = fc
      .integer({ min: 1, max: 40 })
      .chain((to) => fc.tuple(fc.integer({ min: 1, max: to }), fc.constant(to)));
    hold(
      fc.property(sizes, fc.nat(9), ([from, to], at) => {
        const [old, young] = [from, to].map((size) => ({ size, root: rootOf(LEAVES.slice(0, size)) }));
        if (old === undefined || young === undefined) return;
        const proof = consistencyOf(from, LEAVES.slice(0, to));
        expect(isConsistent(old, young, proof)).toBe(true);
        expect(isConsistent({ ...old, root: sha256(old.root) }, young, proof)).toBe(false);
        expect(isConsistent(old, { ...young, root: sha256(young.root) }, proof)).toBe(false);
        const bent = proof.map((hash, i) => (i === at ? sha256(hash) : hash));
        if (at < proof.length) expect(isConsistent(old, young, bent)).toBe(false);
        expect(isConsistent(old, young, [...proof, sha256(young.root)])).toBe(false);
      }),
    );
  });

  it("of anything is refused and nothing more", () => {
    const tree = fc.record({
      size: fc.oneof(fc.nat(50), fc.maxSafeNat()),
      root: fc.constant(LEAVES[0] ?? Buffer.alloc(32)),
    });
    hold(
      fc.property(tree, tree, fc.oneof(fc.nat(50), fc.maxSafeNat()), hashes, (from, to, index, path) => {
        const leaf = LEAVES[1] ?? Buffer.alloc(32);
        rootFromPath(leaf, index, to.size, path);
        prefixFromPath(leaf, index, to, path);
        const isSame = from.size === to.size && path.length === 0;
        const isFirst = from.size === 0 && path.length === 0;
        expect(isConsistent(from, to, path)).toBe(isSame || isFirst);
      }),
    );
  });
});

describe("a line of the ledger", () => {
  const { lines } = makeLog(60, 30);
  const pieces = ['"', ",", "{", "}", "0", "-1", "1e3", ":", "null", '"v":1', "é", "\\u0000", " ", "a"];

  it("has one spelling, and its stream's text is the line without its place", () => {
    hold(
      fc.property(mutated(lines, pieces), (text) => {
        const read = readLine(Buffer.from(text));
        if (read.kind === "refused") return;
        const members = JSON.parse(text);
        expect(JSON.stringify(members)).toBe(text);
        const { shard, index, ...rest } = members;
        expect([read.line.shard, read.line.index]).toEqual([shard, index]);
        expect(streamText(Buffer.from(text), read.line).toString()).toBe(JSON.stringify(rest));
      }),
    );
  });

  it("is refused and nothing more, whatever bytes come", () => {
    hold(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        expect(readLine(Buffer.from(bytes)).kind).toBe("refused");
      }),
    );
  });
});

describe("a query", () => {
  const value = fc.oneof(
    textOf(["0", "1", "9", "-", "+", " ", "e", ".", "x"], 17),
    fc.constantFrom("1:0", "2:0"),
  );
  const query = fc.array(fc.tuple(fc.constantFrom("shard", "from", "limit", "after"), value), {
    maxLength: 4,
  });

  it("is read exactly where every parameter is known, once as a number, and the shard is there", () => {
    hold(
      fc.property(query, (given) => {
        const url = new URL("http://g/ledger/entries");
        for (const [name, text] of given) url.searchParams.append(name, text);
        const first = (name: string) => given.find(([one]) => one === name)?.[1];
        const isNumber = (text: string | undefined) => text !== undefined && /^(0|[1-9]\d{0,14})$/.test(text);
        const isFit =
          given.every(([name]) => name !== "after") &&
          new Set(given.map(([name]) => name)).size === given.length &&
          first("shard") === "1:0" &&
          isNumber(first("from")) &&
          (first("limit") === undefined || isNumber(first("limit")));
        const read = readQuery(url, ["1:0"], { from: null, limit: 100 });
        expect(read !== null).toBe(isFit);
        if (read !== null)
          expect(read).toEqual({
            shard: "1:0",
            from: Number(first("from")),
            limit: Number(first("limit") ?? 100),
          });
      }),
    );
  });
});

/** Records of every state, as the machine makes them. */
const GROUNDS = { code: null, target: null, digest: "d".repeat(64) };

function listRecords(): KeyRecord[] {
  const found: KeyRecord[] = [];
  const terms = {
    fingerprint: "rule",
    executor: "object",
    onCrash: "hold",
    probeDelayMs: 9,
    windowMs: 9,
    quarantineMs: 9,
    leaseMs: 9,
    executionMsMax: 9,
  } as const;
  const world = new World(step, { by: "all" });
  const keep = (): void => void found.push(world.record);
  world.begin("a", "f", true, terms, "now");
  keep();
  const held = world.held[0];
  if (held === undefined) return found;
  const { token, effect } = held;
  world.send({ do: "report", token, reason: "timeout" });
  keep();
  const outcome = { kind: "not-committed" } as const;
  world.send({
    do: "resolve",
    effect: effect.effect,
    operator: "x",
    grounds: GROUNDS,
    outcome,
    operatorsRequired: 2,
  });
  keep();
  world.send({ do: "settle", token, effect: effect.effect, answer: world.say(effect, 0) });
  keep();
  return found;
}

describe("a stored record", () => {
  const records = listRecords();
  const junk = fc.constantFrom<unknown[]>(undefined, null, "", 0, -1, 1.5, Number.NaN, [], {}, true, "x");

  it("is read as it was written", () => {
    expect(records.map(({ state }) => state)).toEqual(["in-flight", "unknown", "unknown", "settled"]);
    for (const record of records) {
      if (record.state === "absent") continue;
      expect(decodeRecord(structuredClone(encodeRecord(record)))).toEqual({ kind: "record", record });
    }
  });

  it("that is in flight since before leases had a time of their own is read as of the clock", () => {
    const [running] = records;
    const { ahead, ...older } = structuredClone(running as Extract<KeyRecord, { state: "in-flight" }>);
    expect(ahead).toBe(0);
    expect(decodeRecord(older)).toEqual({ kind: "record", record: running });
  });

  it("with anything in the place of a member is unreadable, or steps as any other does", () => {
    const place = fc
      .constantFrom(...records)
      .chain((record) => fc.tuple(fc.constant(record), fc.constantFrom(...placesIn(record))));
    hold(
      fc.property(place, junk, ([record, path], value) => {
        const stored = structuredClone(record);
        put(stored, path, value);
        const decoded = decodeRecord(stored);
        if (decoded.kind !== "record") return;
        for (const event of [{ do: "tick" }, { do: "orphan" }] as const)
          step(decoded.record, event, 1_000_000_000_100);
        const outcome = { kind: "not-committed" } as const;
        const effect = decoded.record.effect;
        step(
          decoded.record,
          { do: "resolve", effect, operator: "y", grounds: GROUNDS, outcome, operatorsRequired: 2 },
          1_000_000_000_100,
        );
      }),
    );
  });

  it.each([["operators"], ["outcome"]])("with operators' words that lack %s is unreadable", (member) => {
    const [, , proposed] = records;
    const stored = structuredClone(proposed);
    put(stored, ["proposal", member], undefined);
    expect(decodeRecord(stored).kind).toBe("unreadable");
  });

  it("is unreadable, whatever is stored", () => {
    hold(
      fc.property(fc.anything(), (value) => {
        expect(decodeRecord(value).kind).toBe(value === undefined ? "absent" : "unreadable");
      }),
    );
    expect(decodeRecord(ABSENT).kind).toBe("unreadable");
  });
});

type Path = readonly string[];

function placesIn(value: unknown, path: Path = []): Path[] {
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return [path];
  const below = Object.entries(value).flatMap(([name, member]) => placesIn(member, [...path, name]));
  return path.length === 0 ? below : [path, ...below];
}

function put(target: unknown, [name = "", ...rest]: Path, value: unknown): void {
  const table = target as Record<string, unknown>;
  if (rest.length === 0) table[name] = value;
  else put(table[name], rest, value);
}
