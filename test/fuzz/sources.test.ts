// Aim: whatever a gateway, a database or a pin file says, the verifier reads it in one way, comes to an end and throws nothing else.
import type { DatabaseSync } from "node:sqlite";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parsePin } from "../../src/verify/pin.mjs";
import { readHashes, readPage } from "../../src/verify/sources/answers.mjs";
import { readDatabase, verifyLedger } from "../../src/verify/verify.mjs";
import { makeLog, storeLogs } from "../support/ledger-log.ts";
import { hold, mutated, RUNS } from "./runs.ts";

const ROOT = Buffer.alloc(32, 9).toString("base64");
const HASH = /^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/;

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const isTable = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null;

describe("a gateway's proof", () => {
  const sample = JSON.stringify({ size: 9, hashes: [ROOT, Buffer.alloc(32).toString("base64")] });
  const pieces = ["A", "=", '"', ",", "[", "]", "{", "}", "null", `"${ROOT}"`, "1", " "];

  it("is read exactly where it is a list of hashes in their one spelling, and written again it is the same", () => {
    hold(
      fc.property(fc.oneof(mutated([sample, '{"hashes":[]}'], pieces), fc.json()), (text) => {
        const read = readHashes(text);
        const said = parse(text);
        const hashes = isTable(said) && Array.isArray(said.hashes) ? said.hashes : null;
        const isOne = hashes?.every((hash) => typeof hash === "string" && HASH.test(hash)) === true;
        expect(read === null ? null : read.map((hash) => hash.toString("base64"))).toEqual(
          isOne ? hashes : null,
        );
      }),
    );
  });
});

describe("a gateway's page of lines", () => {
  const { lines } = makeLog(3, 30);
  const page = mutated(
    [`${lines.join("\n")}\n`, "", "\n"],
    ["\n", "{", '"index":', "9", "0", '{"v":1,"shard":"1:0","index":7,'],
  );

  it("begins where its first line says, not before what was asked for, and has as many entries as line ends", () => {
    hold(
      fc.property(page, fc.nat(9), (text, from) => {
        const { first, count, lines: kept } = readPage(Buffer.from(text), from);
        const said = /^\{"v":1,"shard":"[^"]*","index":(\d{1,15}),/.exec(text.slice(0, 200))?.[1];
        expect(first).toBe(Math.max(from, Number(said ?? from)));
        expect(count).toBe(text.split("\n").length - 1);
        expect(kept?.toString()).toBe(text);
      }),
    );
  });
});

describe("a pin file", () => {
  const sample = JSON.stringify({ v: 1, key: null, shards: { "1:0": { size: 3, root: ROOT } } });
  const near = [sample.replace("3", "-3"), sample.replace("3", "3.5"), '{"v":1,"key":null,"shards":[]}'];
  const pieces = ['"', ":", "{", "}", "null", "1", "-", ".5", "A", "=", '"key":"k"', '"size":9', " "];

  it("is read exactly where it names sizes and roots, and written again it is the same", () => {
    hold(
      fc.property(fc.oneof(mutated([sample, ...near], pieces), fc.json()), (text) => {
        const read = parsePin(text);
        const said = parse(text);
        const isShard = (shard: unknown) =>
          isTable(shard) &&
          Number.isSafeInteger(shard.size) &&
          Number(shard.size) >= 0 &&
          typeof shard.root === "string" &&
          HASH.test(shard.root);
        const isOne =
          isTable(said) &&
          said.v === 1 &&
          (said.key === null || typeof said.key === "string") &&
          isTable(said.shards) &&
          !Array.isArray(said.shards) &&
          Object.values(said.shards).every(isShard);
        expect(read !== null).toBe(isOne);
        if (read !== null) expect(parsePin(JSON.stringify(read))).toEqual(read);
      }),
    );
  });
});

describe("a ledger's database", () => {
  const log = makeLog(300, 100);
  /** The columns that are read, in tables of no type and no rule, such as a dump of somebody's own making may have. */
  const columns = {
    bundles: ["shard", "first", "count", "body", "digest"],
    hashes: ["shard", "first", "leaves", "root"],
    checkpoints: ["shard", "size", "root", "note"],
    effects: ["effect_id", "stream", "reported", "shard", "state", "version"],
    prunes: ["shard", "until", "entry"],
  };
  const places = Object.entries(columns).flatMap(([table, names]) =>
    names.map((name) => [table, name] as const),
  );

  function makeDatabase(): DatabaseSync {
    const database = storeLogs([log]);
    for (const [table, names] of Object.entries(columns)) {
      database.exec(`CREATE TABLE bare AS SELECT ${names.join()} FROM ${table}; DROP TABLE ${table}`);
      database.exec(`ALTER TABLE bare RENAME TO ${table}`);
    }
    database.exec("INSERT INTO prunes VALUES ('1:0', 0, 0)");
    return database;
  }

  const value = fc.oneof(
    fc.constantFrom<(string | number | bigint | null | Uint8Array)[]>(
      null,
      "",
      "x",
      "1:0",
      "300",
      -1,
      0,
      1,
      5,
      0.5,
      2n ** 62n,
    ),
    fc.uint8Array({ maxLength: 40 }),
    fc.string(),
  );

  it("that is as it was written is sound in such tables, too", async () => {
    const database = makeDatabase();
    database.exec("DELETE FROM prunes");
    const { verdict } = await verifyLedger(readDatabase(database), { key: log.key.vkey });
    expect(verdict).toMatchObject({ verdict: "sound", entries: 300 });
  });

  it("with anything in a column of some rows comes to a verdict, or can't be read", {
    timeout: 300_000,
  }, async () => {
    const database = makeDatabase();
    const which = fc.constantFrom("1", "rowid = 1", "rowid % 2 = 0", "rowid > 40");
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...places), value, which, async ([table, name], given, where) => {
        database.exec("BEGIN");
        try {
          database.prepare(`UPDATE ${table} SET ${name} = ? WHERE ${where}`).run(given);
          const { verdict } = await verifyLedger(bounded(readDatabase(database)), { key: log.key.vkey });
          expect(["sound", "broken", "not-checked"]).toContain(verdict.verdict);
        } finally {
          database.exec("ROLLBACK");
        }
      }),
      { numRuns: Math.ceil(RUNS / 8) },
    );
  });
});

type Source = ReturnType<typeof readDatabase>;

/** Fails where more rows come than there are. */
function bounded(source: Source): Source {
  const most = 1_000;
  async function* count<T>(rows: AsyncIterable<T>): AsyncIterable<T> {
    let seen = 0;
    for await (const row of rows) {
      seen += 1;
      if (seen > most) throw new Error("rows come again and again");
      yield row;
    }
  }
  const { checkpoints, parts, prunes, effects } = source;
  return {
    ...source,
    checkpoints: (shard) => count(checkpoints(shard)),
    parts: (shard, size) => count(parts(shard, size)),
    prunes: (shard) => count(prunes(shard) ?? none()),
    effects: () => count(effects() ?? none()),
  };
}

async function* none(): AsyncIterable<never> {}
