/**
 * An origin that stops where it is told to and keeps a journal. It drops repeats by its own key where one is sent, as
 * the origin behind an `on_crash = "retry"` route has to.
 */
import { createHash } from "node:crypto";
import { type Arrival, type Origin, type Reply, startOrigin } from "../support/origin.ts";
import { formatHead, type HeaderPair } from "../support/wire.ts";
import type { Recorder } from "./recorder.ts";

/** Where the first request of a key stops: before the effect, after it, or in the middle of the answer's body. */
export type Stop = "arrived" | "executed" | "half";

/** How a stopped request goes on: with all that is left, with the effect only, or not at all. */
export type Release = "answer" | "execute" | "drop";

export type ChaosOrigin = {
  readonly url: string;
  /** The next request of this key stops there. */
  stop(key: string, stop: Stop): void;
  /** Lets all stopped requests go on, and stops no other. */
  release(how: Release): void;
  close(): Promise<void>;
};

type Execution = { id: string; body: Buffer };

/** Large enough that half of it is a segment of its own. */
const PADDING = "x".repeat(4_000);

class Script {
  readonly #recorder: Recorder;
  readonly #stops = new Map<string, Stop>();
  readonly #byDedupe = new Map<string, Execution>();
  #held: ((how: Release) => void)[] = [];
  #executions = 0;

  constructor(recorder: Recorder) {
    this.#recorder = recorder;
  }

  stop(key: string, stop: Stop): void {
    this.#stops.set(key, stop);
  }

  release(how: Release): void {
    this.#stops.clear();
    for (const go of this.#held.splice(0)) go(how);
  }

  async serve(arrival: Arrival, reply: Reply): Promise<void> {
    const key = arrival.target.split("/").at(-1) ?? "";
    const dedupe = arrival.header("Idempotency-Key");
    const stop = this.#stops.get(key);
    this.#stops.delete(key);
    const hold = (at: Stop): Promise<Release> => (stop === at ? this.#hold() : Promise.resolve("answer"));
    this.#recorder.note({
      kind: "arrived",
      key,
      effect: arrival.header("Effect-Id") ?? "",
      attempt: Number(arrival.header("Effect-Attempt")),
      dedupe,
    });
    const before = await hold("arrived");
    if (before === "drop") return;
    const execution = this.#execute(key, dedupe);
    if (before === "execute" || (await hold("executed")) !== "answer") return;
    const [first, rest] = describeAnswer(execution);
    const digest = createHash("sha256").update(execution.body).digest("hex");
    if (stop === "half") reply.raw(first);
    this.#recorder.note({ kind: "replied", key, digest });
    if ((await hold("half")) !== "answer") return;
    reply.raw(stop === "half" ? rest : Buffer.concat([first, rest]));
  }

  #hold(): Promise<Release> {
    return new Promise((resolve) => {
      this.#held.push(resolve);
    });
  }

  #execute(key: string, dedupe: string | null): Execution {
    const known = dedupe === null ? undefined : this.#byDedupe.get(dedupe);
    if (known !== undefined) return known;
    this.#executions += 1;
    const id = `execution-${this.#executions}`;
    this.#recorder.note({ kind: "executed", key, execution: id });
    const execution = { id, body: Buffer.from(JSON.stringify({ id, key, padding: PADDING })) };
    if (dedupe !== null) this.#byDedupe.set(dedupe, execution);
    return execution;
  }
}

/** The whole answer in two pieces, the cut in the middle of the body. */
function describeAnswer({ id, body }: Execution): [Buffer, Buffer] {
  const headers: HeaderPair[] = [
    ["Content-Type", "application/json"],
    ["X-Receipt", id],
    ["Content-Length", String(body.length)],
  ];
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
    release: (how) => script.release(how),
    close: () => origin.close(),
  };
}
