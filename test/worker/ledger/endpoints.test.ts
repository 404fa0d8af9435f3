import { describe, expect, it } from "vitest";
import { encodeUtf8, fromBase64, sha256Hex, toHex } from "../../../src/core/bytes.ts";
import {
  consistencyRanges,
  EMPTY_FRONTIER,
  extendFrontier,
  inclusionRanges,
  rootOf,
} from "../../../src/core/log/tree.ts";
import { hashLeaf, hashNode } from "../../../src/ledger/hashing.ts";
import { stopClock } from "../support/clock.ts";
import { bindWith, expectProblem, get, makeRequest, send } from "../support/gateway.ts";
import { ledgerObject, makeDelivery, readTexts, runRound, SHARDS } from "../support/ledger.ts";
import { tokenOf } from "../support/operator.ts";

const READER = tokenOf("reader");
const SHARD = "1:2";
const SIZE = 700;

const read = (path: string, bindings = bindWith({})): Promise<Response> =>
  get(`/_oncegate/ledger/${path}`, READER, bindings);

/** A shard with several bundles, filled once. */
async function fill(): Promise<string[]> {
  stopClock();
  const stub = ledgerObject(SHARD);
  const held = await stub.checkpoint(SHARD);
  for (let left = SIZE - held.size; left > 0; left -= 100) {
    await stub.append({ shard: SHARD, shards: 4 }, await makeDelivery(100));
  }
  await runRound(stub);
  return readTexts(SHARD);
}

async function rootBetween(texts: readonly string[], from: number, to: number): Promise<string> {
  const leaves = await Promise.all(texts.slice(from, to).map(hashLeaf));
  const root = await rootOf(await extendFrontier(EMPTY_FRONTIER, leaves, hashNode), hashNode);
  return toHex(root ?? new Uint8Array());
}

const hexOf = (hashes: readonly string[]): string[] =>
  hashes.map((hash) => toHex(fromBase64(hash) ?? new Uint8Array()));

describe("entries", () => {
  it("are the stored bytes, page by page", async () => {
    const texts = await fill();
    let path: string | null = `entries?shard=${SHARD}&limit=300`;
    const pages: string[] = [];
    while (path !== null) {
      const response: Response = await read(path);
      expect(response.headers.get("Content-Type")).toBe("application/x-ndjson");
      pages.push(await response.text());
      const link = response.headers.get("Link");
      path = link === null ? null : (/^<\/_oncegate\/ledger\/(.+)>; rel="next"$/.exec(link)?.[1] ?? null);
    }
    expect(pages.map((page) => page.split("\n").length - 1)).toEqual([300, 300, 100]);
    expect(pages.join("")).toBe(texts.map((text) => `${text}\n`).join(""));
  });

  it("can be asked for from anywhere", async () => {
    const texts = await fill();
    const body = await (await read(`entries?shard=${SHARD}&from=255&limit=2`)).text();
    expect(body).toBe(`${texts[255]}\n${texts[256]}\n`);
    expect(await (await read(`entries?shard=${SHARD}&from=700`)).text()).toBe("");
  });
});

describe("a proof", () => {
  it.each([
    [0, 700],
    [255, 256],
    [256, 700],
    [699, 700],
    [300, 513],
    [0, 1],
  ])("of entry %i in the tree of %i is what RFC 6962 says", async (index, size) => {
    const texts = await fill();
    const expected = inclusionRanges(index, size).map(({ from, to }) => rootBetween(texts, from, to));
    const body = await (await read(`proof?shard=${SHARD}&index=${index}&size=${size}`)).json<{
      size: number;
      hashes: string[];
    }>();
    expect(body.size).toBe(size);
    expect(hexOf(body.hashes)).toEqual(await Promise.all(expected));
  });

  it.each([
    [1, 700],
    [256, 512],
    [256, 700],
    [300, 699],
    [700, 700],
  ])("of consistency from %i to %i is what RFC 6962 says", async (from, to) => {
    const texts = await fill();
    const expected = consistencyRanges(from, to).map((range) => rootBetween(texts, range.from, range.to));
    const body = await (await read(`consistency?shard=${SHARD}&from=${from}&to=${to}`)).json<{
      size: number;
      hashes: string[];
    }>();
    expect(body.size).toBe(to);
    expect(hexOf(body.hashes)).toEqual(await Promise.all(expected));
  });

  it("of more than there is does not exist", async () => {
    await fill();
    await expectProblem(await read(`proof?shard=${SHARD}&index=700&size=701`), "not-found", 404);
  });
});

describe("checkpoint and key", () => {
  it("are anyone's, and the key says that the ledger made it", async () => {
    await fill();
    const key = await (await get("/_oncegate/ledger/key", { Authorization: null })).json();
    expect(key).toEqual({
      name: "oncegate",
      key: expect.stringMatching(/^oncegate\+[0-9a-f]{8}\+[A-Za-z0-9+/]{44}$/),
      self_held: true,
      epochs: [{ epoch: 1, shards: 4 }],
      shards: SHARDS,
    });
    for (const shard of [SHARD, "1%3A2"]) {
      const note = await get(`/_oncegate/ledger/checkpoint/${shard}`, { Authorization: null });
      expect(note.headers.get("Content-Type")).toBe("text/plain; charset=utf-8");
      expect(await note.text()).toMatch(/^oncegate\/1:2\n700\n/);
    }
    expect(await (await get("/_oncegate/ledger/checkpoint")).text()).toMatch(/^oncegate\/1:0\n0\n/);
  });

  it("of a shard that this ledger hasn't are not there", async () => {
    for (const shard of ["1:4", "2:0", "x"]) {
      await expectProblem(await read(`checkpoint/${shard}`), "not-found", 404);
    }
  });
});

describe("the ledger's endpoints", () => {
  const paths = [
    `entries?shard=${SHARD}`,
    `proof?shard=${SHARD}&index=0&size=1`,
    `consistency?shard=${SHARD}&from=1&to=2`,
  ];

  it.each(paths)("keep %s for operators", async (path) => {
    const url = `/_oncegate/ledger/${path}`;
    await expectProblem(await get(url), "operator-unauthorized", 401);
    const operators = [{ id: "op9", sha256: await sha256Hex(encodeUtf8("pass")), roles: ["resolve"] }];
    const bindings = bindWith({ OPERATOR_TOKENS: JSON.stringify(operators) });
    await expectProblem(
      await get(url, { Authorization: "Bearer op9.pass" }, bindings),
      "operator-forbidden",
      403,
    );
    await expectProblem(await get(url, READER, bindWith({ OPERATOR_TOKENS: undefined })), "not-found", 404);
  });

  it.each(paths)("name the sinks where %s can't be answered from them", async (path) => {
    const refused = await read(path, bindWith({ LEDGER_SINKS: '["stdout"]' }));
    expect(await expectProblem(refused, "unsupported", 501)).toMatchObject({ sinks: "stdout" });
  });

  it.each(["key", "checkpoint", "checkpoint/1:0"])(
    "have no %s where there is no sink at all",
    async (path) => {
      const refused = await read(path, bindWith({ LEDGER_SINKS: '["none"]' }));
      expect(await expectProblem(refused, "unsupported", 501)).toMatchObject({ sinks: "none" });
    },
  );

  it.each([
    "entries",
    "entries?shard=1:4",
    "entries?shard=1:2&from=-1",
    "entries?shard=1:2&limit=0",
    "entries?shard=1:2&from=1e3",
    "entries?shard=1:2&form=1",
    "entries?shard=1:2&toString=1",
    "entries?shard=1:2&shard=1:3",
    "entries?shard=1:2&from=1&from=1",
    "proof?shard=1:2&index=1",
    "proof?shard=1:2&index=5&size=5",
    "consistency?shard=1:2&from=0&to=5",
    "consistency?shard=1:2&from=6&to=5",
    "consistency?shard=1:2&from=1&to=99999999999999999999",
  ])("refuse %s", async (path) => {
    await expectProblem(await read(path), "query-invalid", 400);
  });

  it("are only to be read", async () => {
    const sent = makeRequest("/_oncegate/ledger/key", { method: "POST", headers: READER });
    await expectProblem(await send(sent), "method-not-allowed", 405);
    await expectProblem(await read("nothing"), "not-found", 404);
    await expectProblem(await read("key/1:0"), "not-found", 404);
  });
});
