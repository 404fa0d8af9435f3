/** Looks into key objects, and stands in for what they are given. */

import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, vi } from "vitest";
import { makeKeyring } from "../../../src/config/keyring.ts";
import { loadConfig } from "../../../src/config/load.ts";
import type { Grant } from "../../../src/core/event.ts";
import { nameMessage, ownerMessage } from "../../../src/core/http/scope.ts";
import type { Config, RoutePolicy } from "../../../src/core/policy.ts";
import type { Begun, LedgerPort, Operation } from "../../../src/core/ports.ts";
import type { LiveRecord } from "../../../src/core/record.ts";
import type { Env } from "../../../src/env.ts";
import { writeOperationId } from "../../../src/gateway/operation-id.ts";
import { KeyObjectShell, type KeyParts } from "../../../src/key/key-object.ts";
import { readBegun, requestFor } from "../../../src/key/wire.ts";
import { openOriginMacs } from "../../../src/origin/evidence.ts";
import { wire } from "../../../src/wiring.ts";
import type { KeyObject } from "../../../src/worker.ts";
import { until } from "./clock.ts";

export type KeyStub = DurableObjectStub<KeyObject>;

/** By its own name, or by the public id of its operation. */
export function keyObject(name: string): KeyStub {
  return env.KEYS.getByName(name.split(".")[0] ?? "");
}

export const config: Config = readConfig();

function readConfig(): Config {
  const loaded = loadConfig({ ...env }, "oncegate");
  if (loaded.kind === "misconfigured") throw new Error(loaded.mistakes.join("\n"));
  return loaded.config;
}

export const keyring = await makeKeyring(config.secrets);
export const macs = await openOriginMacs(config.secrets.originEvidence);

export function policyOf(route: string): RoutePolicy {
  const policy = config.routes.find(({ id }) => id === route);
  if (policy === undefined) throw new Error(`no route ${route}`);
  return policy;
}

/** Parts of a key object whose version has other settings for its routes. */
function changeRoutes(changes: Partial<RoutePolicy>): Pick<KeyParts, "route"> {
  return { route: (id) => ({ ...policyOf(id), ...changes }) };
}

/** Parts of the principal that `post` sends on routes with the default rule. */
export const ALICE = ["credential", "authorization", "given", "Bearer alice"];

/** Name of the key object behind a key of `alice`, before any request has named it. */
export function nameOf(route: string, key: string): Promise<string> {
  return keyring.name(nameMessage(route, ALICE, key));
}

/** Public id of the operation behind a key of `alice`. */
export async function idOf(route: string, key: string): Promise<string> {
  return writeOperationId(await nameOf(route, key), keyring);
}

/** An operation as the Worker hands it to a key object. */
export async function makeOperation(
  route: string,
  key: string,
  changes: Partial<Operation> = {},
): Promise<Operation> {
  return {
    name: await nameOf(route, key),
    route,
    fp: "fingerprint",
    nonce: crypto.randomUUID(),
    authorized: true,
    waitMs: 0,
    owner: await keyring.owner(ownerMessage(route, ALICE)),
    rawKey: "",
    request: { method: "POST", target: `/${route}`, headers: [], body: async () => new Uint8Array() },
    ...changes,
  };
}

type Served = { fetch: (request: Request) => Promise<Response> };

/** Has a key object run an operation, as the Worker of the default executor does. */
export async function submitTo(object: Served, operation: Operation): Promise<Begun> {
  return readBegun(await object.fetch(await requestFor("submit", operation)));
}

/** Has a key object grant an attempt to a caller that runs it, as the Worker of the other executor does. */
export async function beginAt(object: Served, operation: Operation): Promise<Begun> {
  return readBegun(await object.fetch(await requestFor("begin", operation)));
}

/** The grant of an attempt that a caller runs. Fails where there is none. */
export async function grantAt(object: Served, operation: Operation): Promise<Grant> {
  const begun = await beginAt(object, operation);
  if (begun.kind !== "run") throw new Error(`not granted: ${begun.kind}`);
  return begun.grant;
}

/** The stored record, seen from inside its object. Fails where there is none. */
export function recordIn(storage: DurableObjectStorage): LiveRecord {
  const record = storage.kv.get<LiveRecord>("record");
  if (record === undefined) throw new Error("no record");
  return record;
}

/** The stored record. Fails where there is none. */
export function readRecord(stub: KeyStub): Promise<LiveRecord> {
  return runInDurableObject(stub, (_object, { storage }) => recordIn(storage));
}

/** What is known of the attempt once it is no longer in flight. Fails where there is no record. */
export async function readClosed(stub: KeyStub): Promise<LiveRecord> {
  await until(async () => (await readRecord(stub)).state !== "in-flight");
  return readRecord(stub);
}

/** Puts something else where the record was. */
export async function replaceRecord(stub: KeyStub, change: (record: LiveRecord) => unknown): Promise<void> {
  await runInDurableObject(stub, (_object, { storage }) => {
    storage.kv.put("record", change(recordIn(storage)));
  });
}

/** Runs the alarm handler now, due or not. */
export function runAlarm(stub: KeyStub): Promise<void> {
  return runInDurableObject(stub, (object: KeyObject) => object.alarm());
}

/** Ends the object in memory. Its draining needs a clock that runs. */
export async function evict(stub: KeyStub): Promise<void> {
  const stoppedAt = vi.isFakeTimers() ? Date.now() : null;
  vi.useRealTimers();
  await evictDurableObject(stub);
  if (stoppedAt !== null) vi.useFakeTimers({ toFake: ["Date"], now: stoppedAt });
}

/** Storage keys and the alarm: what is left of a key. */
export function readTraces(stub: KeyStub): Promise<{ rows: string[]; alarm: number | null }> {
  return runInDurableObject(stub, async (_object, { storage }) => ({
    rows: [...storage.kv.list()].map(([key]) => key),
    alarm: await storage.getAlarm(),
  }));
}

export async function expectNoTraces(stub: KeyStub): Promise<void> {
  expect(await readTraces(stub)).toEqual({ rows: [], alarm: null });
}

export type Writes = { readonly rows: number; readonly wipes: number };

/**
 * Counts what the object, as it is in memory now, writes from here on. Each `put`, `delete` and `setAlarm` is one row; an
 * alarm that a test runs by hand is taken away by the test tool, which is not counted.
 */
export function countWrites(stub: KeyStub): Promise<Writes> {
  return runInDurableObject(stub, (_object, { storage }) => countWritesIn(storage));
}

/** The same, from inside the object. */
export function countWritesIn(storage: DurableObjectStorage): Writes {
  const puts = [
    vi.spyOn(storage.kv, "put"),
    vi.spyOn(storage.kv, "delete"),
    vi.spyOn(storage, "setAlarm"),
    vi.spyOn(storage, "put"),
    vi.spyOn(storage, "delete"),
    vi.spyOn(storage.sql, "exec"),
  ];
  const wipe = vi.spyOn(storage, "deleteAll");
  return {
    get rows() {
      return puts.reduce((sum, spy) => sum + spy.mock.calls.length, 0);
    },
    get wipes() {
      return wipe.mock.calls.length;
    },
  };
}

/** A ledger that takes entries or doesn't, as `isUp` says. `types` are those it was sent, in order. */
export function makeLedger(isUp: (types: readonly string[]) => boolean): LedgerPort & { types: string[] } {
  const types: string[] = [];
  return {
    isKept: true,
    types,
    async append(_name, stream) {
      const sent = stream.entries.map(({ type }) => type);
      types.push(...sent);
      if (!isUp(sent)) return { kind: "failed" };
      return { kind: "held", seq: stream.acked + stream.entries.length, head: stream.head };
    },
  };
}

/** Runs `act` with a key object of the product's own kind in place of the real one, with some of its parts changed. */
export async function withParts<Result>(
  stub: KeyStub,
  changes: Partial<KeyParts>,
  act: (object: KeyObjectShell<Env>, state: DurableObjectState) => Promise<Result>,
): Promise<Result> {
  const wiring = await wire(env);
  if (wiring.kind === "misconfigured") throw new Error("misconfigured");
  const parts = { ...wiring.keyParts, ...changes };
  class ChangedObject extends KeyObjectShell<Env> {
    protected override async parts(): Promise<KeyParts> {
      return parts;
    }
  }
  return runInDurableObject(stub, (_object, state) => act(new ChangedObject(state, env), state));
}

/** Runs `act` with an object whose version has other settings for its routes. */
export function withRoutes<Result>(
  stub: KeyStub,
  changes: Partial<RoutePolicy>,
  act: (object: KeyObjectShell<Env>, state: DurableObjectState) => Promise<Result>,
): Promise<Result> {
  return withParts(stub, changeRoutes(changes), act);
}
