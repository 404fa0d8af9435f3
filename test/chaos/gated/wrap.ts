/** The parts of an isolate with places to stand still between any two durable writes. What they do stays the same. */
import type { LedgerPort, OriginPort, ProbePort } from "../../../src/core/ports.ts";
import type { Env } from "../../../src/env.ts";
import { type Sound, wire, wired } from "../../../src/wiring.ts";
import { gate, keyOfTarget } from "./gate.ts";

/** What is known of a key object while it lives: whose operation it holds, who runs it, and how to break it. */
export type Enrolled = { key: string; runsAttempt: boolean; abort: () => void };

/** By the object's name. */
export const enrolled = new Map<string, Enrolled>();

const done = new WeakSet<Sound>();

/** Wraps what the isolate has wired, once. */
export async function gateWiring(env: Env): Promise<void> {
  const wiring = wired(env) ?? (await wire(env));
  if (wiring.kind === "misconfigured" || done.has(wiring)) return;
  done.add(wiring);
  const { keyParts, ledgerParts } = wiring;
  wiring.origin = gateOrigin(wiring.origin);
  const { ledger, probe } = keyParts;
  wiring.keyParts = {
    ...keyParts,
    origin: wiring.origin,
    ledger: gateLedger(ledger),
    probe: gateProbe(probe),
  };
  const { database } = ledgerParts;
  wiring.ledgerParts = { ...ledgerParts, database: database === null ? null : gateDatabase(database) };
}

function gateOrigin(origin: OriginPort): OriginPort {
  return {
    ...origin,
    async dispatch(request, attempt, budget, stop) {
      const key = keyOfTarget(request.target);
      const object = enrolled.get(attempt.name);
      if (object?.runsAttempt === true && (await gate("grant-unheard", key)) === "abort") {
        return breakObject(object);
      }
      await gate("granted", key);
      const came = await origin.dispatch(request, attempt, budget, stop);
      await gate("answer-read", key);
      return came;
    },
  };
}

function gateProbe(probe: ProbePort): ProbePort {
  return {
    async ask(attempt, ...rest) {
      const asked = await probe.ask(attempt, ...rest);
      await gate("probe-heard", enrolled.get(attempt.name)?.key ?? null);
      return asked;
    },
    async seal(attempt, ...rest) {
      const voiding = await probe.seal(attempt, ...rest);
      await gate("probe-heard", enrolled.get(attempt.name)?.key ?? null);
      return voiding;
    },
  };
}

/** Never comes back. */
export function breakObject(object: Enrolled): Promise<never> {
  object.abort();
  return new Promise(() => {});
}

function gateLedger(ledger: LedgerPort): LedgerPort {
  return {
    ...ledger,
    async append(name, stream) {
      const key = enrolled.get(name)?.key ?? null;
      const isEnd = stream.entries.at(-1)?.type === "purged";
      await gate(isEnd ? "purge-due" : "outbox-full", key);
      const held = await ledger.append(name, stream);
      await gate(isEnd ? "purge-told" : "acknowledged", key);
      return held;
    },
  };
}

/** A shard writes bundles, then the checkpoint over them; each is one batch. */
function gateDatabase(database: D1Database): D1Database {
  let isCheckpoint = false;
  const batch = async <T>(statements: D1PreparedStatement[]): Promise<D1Result<T>[]> => {
    const isLast = isCheckpoint;
    isCheckpoint = false;
    await gate(isLast ? "bundles-noted" : "head-signed", null);
    const writing = database.batch<T>(statements);
    const results = await Promise.all([writing, gate("database-writing", null)]);
    await gate(isLast ? "checkpoint-written" : "bundles-written", null);
    return results[0];
  };
  return new Proxy(database, {
    get(target, name) {
      if (name === "batch") return batch;
      if (name !== "prepare") return readMember(target, name);
      return (sql: string) => {
        // Prepared and begun in one turn: what is seen here is of the next batch.
        if (sql.includes("INTO checkpoints")) isCheckpoint = true;
        return target.prepare(sql);
      };
    },
  });
}

/** A member of what the platform made, which answers only to itself. */
export function readMember<Target extends object>(target: Target, name: string | symbol): unknown {
  const member: unknown = Reflect.get(target, name);
  return typeof member === "function" ? member.bind(target) : member;
}
