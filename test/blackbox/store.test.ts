import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, describe, expect, it } from "vitest";
import { expectExecuted, expectProblem, expectReplay } from "../support/expect-answer.ts";
import { listObjectFiles, readRows, writeRow, writeRowBytes } from "../support/object-store.ts";
import { EXECUTOR_ROUTES, EXECUTORS, makeKey, useStage } from "../support/stage.ts";

type StoredRecord = Record<string, unknown>;
type Alteration = { name: string; alter: (file: string, record: StoredRecord) => void };

/** Ways in which a record can be one that this version can't read. */
const ALTERATIONS: Alteration[] = [
  { name: "a newer version", alter: (file, record) => writeRow(file, "record", { ...record, v: 999 }) },
  {
    name: "an unknown state",
    alter: (file, record) => writeRow(file, "record", { ...record, state: "paused" }),
  },
  {
    name: "a missing member",
    alter: (file, record) => writeRow(file, "record", { ...record, fp: undefined }),
  },
  { name: "nothing that is a record", alter: (file) => writeRow(file, "record", "gone") },
  { name: "nothing at all", alter: (file) => writeRow(file, "record", null) },
  {
    name: "bytes that are no value",
    alter: (file) => writeRowBytes(file, "record", Buffer.from("ff0f00ff", "hex")),
  },
];

/** The control: what is written by this way and says the same is read. */
const REWRITING: Alteration = { name: "itself", alter: (file, record) => writeRow(file, "record", record) };

const stage = useStage({ routes: EXECUTOR_ROUTES });

function readRecord(file: string): StoredRecord {
  const row = readRows(file).find(({ key }) => key === "record");
  if (row === undefined) throw new Error("the object holds no record");
  return { ...(row.value as StoredRecord) };
}

describe.each(EXECUTORS)("a stored record (%s)", (executor) => {
  const target = `/${executor}/pay`;

  describe("that was altered", () => {
    const calls = new Map([...ALTERATIONS, REWRITING].map(({ name }) => [name, { target, key: makeKey() }]));

    beforeAll(async () => {
      const owners = new Map<string, string>();
      for (const [name, call] of calls) {
        const known = new Set(await listObjectFiles(stage.gateway.persist, "KeyObject"));
        expectExecuted(await stage.post(call));
        const files = await listObjectFiles(stage.gateway.persist, "KeyObject");
        const [file, ...more] = files.filter((each) => !known.has(each));
        if (file === undefined || more.length > 0) throw new Error("one request made not one object");
        owners.set(name, file);
      }
      await stage.gateway.halt();
      for (const { name, alter } of [...ALTERATIONS, REWRITING]) {
        const file = owners.get(name) ?? "";
        alter(file, readRecord(file));
      }
      await stage.gateway.restart();
    });

    it.each(ALTERATIONS)("FR-037 is never taken for none: $name", async ({ name }) => {
      const call = calls.get(name) ?? { target, key: "" };
      for (let tries = 0; tries < 2; tries += 1) expectProblem(await stage.post(call), "store-unavailable");
      expectProblem(await stage.post({ ...call, body: '{"other":1}' }), "store-unavailable");
      expect(stage.origin.starts()).toBe(0);
    });

    it("is read where it says what it said before", async () => {
      const call = calls.get(REWRITING.name) ?? { target, key: "" };
      expect((await stage.post(call)).header("Idempotency-Status")).toBe("replayed");
      expectProblem(await stage.post({ ...call, body: '{"other":1}' }), "key-reused");
    });

    it("FR-037 keeps no other key from its answer", async () => {
      const call = { target, key: makeKey() };
      const first = await stage.post(call);
      expectExecuted(first);
      expectReplay(await stage.post(call), first);
    });
  });

  it("is the same after a restart and after a kill", async () => {
    const call = { target, key: makeKey() };
    const first = await stage.post(call);
    expectExecuted(first);
    await stage.gateway.restart();
    expectReplay(await stage.post(call), first);
    expectProblem(await stage.post({ ...call, body: '{"other":1}' }), "key-reused");
    await stage.gateway.kill();
    await stage.gateway.restart();
    expectReplay(await stage.post(call), first);
    expect(stage.origin.starts()).toBe(1);
  });

  it("is not opened by another sealing key, and the request is not run again", async () => {
    const call = { target, key: makeKey() };
    expectExecuted(await stage.post(call));
    await stage.gateway.restart({ secrets: { SEALING_KEY: Buffer.alloc(32, 0x21).toString("base64") } });
    expectProblem(await stage.post(call), "store-unavailable");
    await stage.gateway.restart({ secrets: {} });
    expect((await stage.post(call)).header("Idempotency-Status")).toBe("replayed");
    expect(stage.origin.starts()).toBe(1);
  });

  it("is opened by an older sealing key that is still listed", async () => {
    const call = { target, key: makeKey() };
    const first = await stage.post(call);
    expectExecuted(first);
    const older = Buffer.alloc(32, 0x53).toString("base64");
    const newer = Buffer.alloc(32, 0x21).toString("base64");
    await stage.gateway.restart({ secrets: { SEALING_KEY: newer, SEALING_KEYS: JSON.stringify([older]) } });
    expectReplay(await stage.post(call), first);
    await stage.gateway.restart({ secrets: {} });
  });

  it("is not made by reads, refusals and requests that no route guards", async () => {
    const before = await listObjectFiles(stage.gateway.persist, "KeyObject");
    const headers = [
      ["Idempotency-Key", makeKey()],
      ["Authorization", "Bearer a"],
    ] as const;
    await stage.send({ method: "GET", target, headers });
    await stage.post({ target: "/free/pay", key: makeKey() });
    expectProblem(await stage.post({ target, key: null }), "key-missing");
    expectProblem(await stage.post({ target, key: makeKey(), tenant: null }), "principal-missing");
    await sleep(200);
    expect(await listObjectFiles(stage.gateway.persist, "KeyObject")).toEqual(before);
  });
});
