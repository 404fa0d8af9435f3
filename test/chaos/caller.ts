/** Clients that never retry by themselves: every call is one connection, one request, and one line in the history. */
import { createHash } from "node:crypto";
import { type Answer, Connection, NoAnswer, type RequestBody } from "../support/client.ts";
import type { HeaderPair } from "../support/wire.ts";
import type { FactOf, Operation, Told, Use } from "./history.ts";
import type { Recorder } from "./recorder.ts";

export const PREFIX = "/_oncegate";

/** Longest time one call may take: longer than the origin's budget plus a `Prefer: wait`. */
const CALL_MS_MAX = 20_000;

/** What a call sends: all of it, half of the body it has announced, or all of it with a wish to wait, in seconds. */
export type Sent = { kind: "whole" } | { kind: "half" } | { kind: "waiting"; seconds: number };

/** `sent` resolves when the bytes have been given to the network; `told` when the call is over, null without an answer. */
export type Call = { sent: Promise<void>; told: Promise<Told | null> };

type Looked = FactOf<"looked">;

/** Fields that belong to one exchange, or that say how the answer was come by. */
const EXCHANGE_FIELDS = new Set(["date", "cache-control", "connection", "keep-alive", "link"]);
const FRAMING_FIELDS = new Set(["transfer-encoding", "content-length"]);

export class Caller {
  readonly #recorder: Recorder;
  /** Operation ids, as answers' links gave them, by key. */
  readonly #ids = new Map<string, string>();
  #port = 0;

  constructor(recorder: Recorder) {
    this.#recorder = recorder;
  }

  /** The gateway's port of now on. */
  connectTo(port: number): void {
    this.#port = port;
  }

  /** Begins a call; the history has it before its first byte is sent. */
  begin(operation: Operation, use: Use, sent: Sent = { kind: "whole" }): Call {
    const { key } = operation;
    const call = this.#recorder.nextCall();
    this.#recorder.note({ kind: "called", key, call, use });
    const opened = Connection.open(this.#port);
    const begun = opened.then((connection) => {
      const spec = { ...describeRequest(operation, sent), timeoutMs: CALL_MS_MAX };
      return { answered: connection.send(spec).finally(() => connection.close()) };
    });
    const told = begun
      .then(({ answered }) => answered)
      .then(
        (answer) => this.#noteAnswer(key, call, answer),
        (error: unknown) => this.#noteSilence(key, call, error),
      );
    return {
      sent: begun.then(
        () => {},
        () => {},
      ),
      told,
    };
  }

  /** One call from beginning to end. */
  call(operation: Operation, use: Use): Promise<Told | null> {
    return this.begin(operation, use).told;
  }

  /** Asks for the state of an operation. */
  async look({ key }: Operation): Promise<Looked> {
    const target = `${PREFIX}/operations/${this.#ids.get(key) ?? "none"}`;
    const looked = { kind: "looked" as const, key, ...readStatus(await this.#get(target, key)) };
    this.#recorder.note(looked);
    return looked;
  }

  /** The newest checkpoint of a shard, as anyone is shown it. */
  async readCheckpoint(shard: string): Promise<void> {
    const answer = await this.#get(`${PREFIX}/ledger/checkpoint/${shard}`, "anyone");
    const [, size = "", root = ""] = answer.text().split("\n");
    this.#recorder.note({ kind: "shown", shard, size: Number(size), root });
  }

  /** Makes alarms come now: of all shards, or of the objects of some operations. Like all of these, only a gated build can. */
  async ringShards(): Promise<void> {
    await this.#get("/_chaos/ring-shards", "anyone");
  }

  async ringKey({ key }: Operation): Promise<void> {
    const name = this.#ids.get(key)?.split(".")[0];
    if (name !== undefined) await this.#get(`/_chaos/ring-key/${name}`, "anyone");
  }

  /** Breaks the object of an operation, or all shards. False: there is no such object in this life of the process. */
  async breakKey({ key }: Operation): Promise<boolean> {
    return (await this.#get(`/_chaos/break-key/${key}`, "anyone")).status === 204;
  }

  async breakShards(): Promise<boolean> {
    return (await this.#get("/_chaos/break-shards", "anyone")).status === 204;
  }

  /** Has the cron's handler run to its end. */
  async reconcile(): Promise<boolean> {
    return (await this.#get("/_chaos/reconcile", "anyone")).status === 204;
  }

  async #get(target: string, key: string): Promise<Answer> {
    const connection = await Connection.open(this.#port);
    try {
      return await connection.send({ method: "GET", target, headers: [describeTenant(key)] });
    } finally {
      connection.close();
    }
  }

  #noteAnswer(key: string, call: number, answer: Answer): Told | null {
    if (!answer.whole) return this.#noteSilence(key, call, new NoAnswer("closed"));
    const id = /operations\/([^>]+)>; rel="status"/.exec(answer.header("Link") ?? "")?.[1];
    if (id !== undefined) this.#ids.set(key, id);
    const told = describeAnswer(answer);
    this.#recorder.note({ kind: "told", key, call, told });
    return told;
  }

  #noteSilence(key: string, call: number, error: unknown): null {
    if (!(error instanceof NoAnswer)) throw error;
    this.#recorder.note({ kind: "silence", key, call });
    return null;
  }
}

/** Each key has a principal of its own, so that none of them shares anything. */
function describeTenant(key: string): HeaderPair {
  return ["Authorization", `Bearer tenant-${key}`];
}

function describeRequest(operation: Operation, sent: Sent) {
  const { key, executor, crashRule } = operation;
  const whole = JSON.stringify({ operation: key, note: "n".repeat(600) });
  const half = { pieces: [whole.slice(0, 300)], gapMs: 0, framing: "length", length: whole.length } as const;
  const body: RequestBody = sent.kind === "half" ? half : whole;
  const headers: HeaderPair[] = [
    ["Content-Type", "application/json"],
    ["Idempotency-Key", key],
    describeTenant(key),
    ...(sent.kind === "waiting" ? [["Prefer", `wait=${sent.seconds}`] as const] : []),
  ];
  const route = operation.isBrief ? "brief" : crashRule;
  return { method: "POST", target: `/${executor}-${route}/${key}`, headers, body };
}

function describeAnswer(answer: Answer): Told {
  const type =
    answer.header("Content-Type") === "application/problem+json" ? readMember(answer, "type") : null;
  const retryAfter = answer.header("Retry-After");
  const fields = answer.headers
    .map(([name, value]) => ({ name: name.toLowerCase(), value }))
    .filter(({ name }) => !EXCHANGE_FIELDS.has(name) && !FRAMING_FIELDS.has(name))
    .filter(({ name }) => !name.startsWith("idempotency-"))
    .map(({ name, value }) => `${name}: ${value}`)
    .sort();
  return {
    status: answer.status,
    mark: answer.header("Idempotency-Status"),
    slug: type === null ? null : type.slice(type.lastIndexOf("/") + 1),
    retryAfterS: retryAfter === null ? null : Number(retryAfter),
    digest: createHash("sha256").update(answer.body).digest("hex"),
    fields: fields.join("\n"),
  };
}

function readStatus(answer: Answer): Omit<Looked, "kind" | "key"> {
  if (answer.status !== 200) return { state: null, effects: [], toTell: 0 };
  const status = answer.json() as {
    state: string;
    effects: { effect_id: string }[];
    ledger?: { seq: number };
  };
  const { state, effects, ledger } = status;
  return {
    state,
    effects: effects.map(({ effect_id }) => effect_id),
    toTell: ledger?.seq ?? 0,
  };
}

function readMember(answer: Answer, name: string): string | null {
  try {
    const value: unknown = answer.json();
    if (typeof value !== "object" || value === null) return null;
    const member: unknown = Reflect.get(value, name);
    return typeof member === "string" ? member : null;
  } catch {
    return null;
  }
}
