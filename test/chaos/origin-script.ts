/**
 * An origin that stops where it is told to and keeps a journal. It drops repeats by its own key where one is sent, as
 * the origin behind an `on_crash = "retry"` route has to, and can be asked what became of an attempt, as the one behind a
 * route with a `probe` has to.
 */
import { createHash } from "node:crypto";
import { type Arrival, type Origin, type Reply, startOrigin } from "../support/origin.ts";
import { formatHead, type HeaderPair } from "../support/wire.ts";
import type { FactOf } from "./history.ts";
import type { Recorder } from "./recorder.ts";

/**
 * Where the first request of a key stops: before the effect, after it, or in the middle of the answer's body. `reset` and
 * `cut` don't stop: the line breaks before the effect, or in the middle of the body.
 */
export type Stop = "arrived" | "executed" | "half" | "reset" | "cut";

/** How a stopped request goes on: with all that is left, with the effect only, or not at all. */
export type Release = "answer" | "execute" | "drop";

export type ChaosOrigin = {
  readonly url: string;
  /** The next request of this key stops there. */
  stop(key: string, stop: Stop): void;
  /** Lets all stopped requests, or those of some keys, go on, and stops no other of them. */
  release(how: Release, keys?: readonly string[]): void;
  close(): Promise<void>;
};

type Execution = { key: string; id: string; body: Buffer };
type Attempt = { key: string; effect: string; dedupe: string | null };

/** Large enough that half of it is a segment of its own. */
const PADDING = "x".repeat(4_000);
const PROBE = /^\/effects\/([^/]+)(\/void)?$/;
const JSON_FIELDS: HeaderPair[] = [["Content-Type", "application/json"]];

class Script {
  readonly #recorder: Recorder;
  readonly #stops = new Map<string, Stop>();
  readonly #byDedupe = new Map<string, Execution>();
  /** By the id of the attempt that asked for it; `void` are those that will never be executed. */
  readonly #byEffect = new Map<string, Execution | "void">();
  #held: { key: string; go: (how: Release) => void }[] = [];
  #executions = 0;

  constructor(recorder: Recorder) {
    this.#recorder = recorder;
  }

  stop(key: string, stop: Stop): void {
    this.#stops.set(key, stop);
  }

  release(how: Release, keys: readonly string[] | null): void {
    const isMeant = (key: string): boolean => keys === null || keys.includes(key);
    for (const key of this.#stops.keys()) if (isMeant(key)) this.#stops.delete(key);
    const held = this.#held;
    this.#held = held.filter(({ key }) => !isMeant(key));
    for (const { key, go } of held) if (isMeant(key)) go(how);
  }

  serve(arrival: Arrival, reply: Reply): Promise<void> | void {
    const [, effect, isVoid] = PROBE.exec(arrival.target) ?? [];
    return effect === undefined ? this.#run(arrival, reply) : this.#tell(effect, isVoid !== undefined, reply);
  }

  async #run(arrival: Arrival, reply: Reply): Promise<void> {
    const key = arrival.target.split("/").at(-1) ?? "";
    const dedupe = arrival.header("Idempotency-Key");
    const effect = arrival.header("Effect-Id") ?? "";
    const stop = this.#stops.get(key);
    this.#stops.delete(key);
    const hold = (at: Stop): Promise<Release> => (stop === at ? this.#hold(key) : Promise.resolve("answer"));
    const attempt = Number(arrival.header("Effect-Attempt"));
    this.#recorder.note({ kind: "arrived", key, effect, attempt, dedupe });
    if (stop === "reset") return reply.reset();
    const before = await hold("arrived");
    if (before === "drop") return;
    const execution = this.#execute({ key, effect, dedupe });
    if (execution === "void") return reply.send(422, JSON_FIELDS, '{"error":"this attempt is void"}');
    if (before === "execute" || (await hold("executed")) !== "answer") return;
    const [first, rest] = describeAnswer(execution);
    if (stop === "half" || stop === "cut") reply.raw(first);
    this.#noteReply(execution);
    if (stop === "cut") return reply.end();
    if ((await hold("half")) !== "answer") return;
    reply.raw(stop === "half" ? rest : Buffer.concat([first, rest]));
  }

  /** What became of an attempt; asked to void one that has not happened, it never lets it happen. */
  #tell(effect: string, isVoid: boolean, reply: Reply): void {
    const known = this.#byEffect.get(effect);
    if (known === undefined && isVoid) this.#byEffect.set(effect, "void");
    const isDone = known !== undefined && known !== "void";
    const outcome: FactOf<"probed">["outcome"] = isDone ? "committed" : isVoid ? "void" : "none";
    this.#recorder.note({ kind: "probed", effect, outcome });
    if (isDone) this.#noteReply(known);
    const answer = isDone
      ? { status: 201, headers: fieldsOf(known), body: known.body.toString() }
      : undefined;
    reply.send(200, JSON_FIELDS, JSON.stringify({ outcome, answer }));
  }

  #hold(key: string): Promise<Release> {
    return new Promise((resolve) => {
      this.#held.push({ key, go: resolve });
    });
  }

  #execute({ key, effect, dedupe }: Attempt): Execution | "void" {
    const known = this.#byEffect.get(effect) ?? (dedupe === null ? undefined : this.#byDedupe.get(dedupe));
    if (known !== undefined) return known;
    this.#executions += 1;
    const id = `execution-${this.#executions}`;
    this.#recorder.note({ kind: "executed", key, effect, execution: id });
    const execution = { key, id, body: Buffer.from(JSON.stringify({ id, key, padding: PADDING })) };
    this.#byEffect.set(effect, execution);
    if (dedupe !== null) this.#byDedupe.set(dedupe, execution);
    return execution;
  }

  #noteReply({ key, body }: Execution): void {
    this.#recorder.note({ kind: "replied", key, digest: createHash("sha256").update(body).digest("hex") });
  }
}

function fieldsOf({ id }: Execution): HeaderPair[] {
  return [...JSON_FIELDS, ["X-Receipt", id]];
}

/** The whole answer in two pieces, the cut in the middle of the body. */
function describeAnswer(execution: Execution): [Buffer, Buffer] {
  const { body } = execution;
  const headers: HeaderPair[] = [...fieldsOf(execution), ["Content-Length", String(body.length)]];
  const half = Math.floor(body.length / 2);
  return [
    Buffer.concat([formatHead("HTTP/1.1 201 Created", headers), body.subarray(0, half)]),
    body.subarray(half),
  ];
}

/** Starts it on loopback. The last segment of a target is the key of the operation. */
export async function startChaosOrigin(recorder: Recorder): Promise<ChaosOrigin> {
  const script = new Script(recorder);
  const origin: Origin = await startOrigin((arrival, reply) => script.serve(arrival, reply));
  return {
    url: origin.url,
    stop: (key, stop) => script.stop(key, stop),
    release: (how, keys) => script.release(how, keys ?? null),
    close: () => origin.close(),
  };
}
