/**
 * An honest client: one key for one operation, tried again until it is answered for good, sometimes twice at once. It never changes
 * a request under its key unless it is told to be careless.
 */
import type { Answered, Datum } from "../check/history.ts";
import { digestOf } from "./digest.ts";
import type { Injector } from "./faults.ts";
import { readAll, SimRequest, type SimResponse } from "./http.ts";
import type { Random } from "./random.ts";
import { Process, type Scheduler } from "./scheduler.ts";

/** Texts that must never be seen outside of requests and the origin. */
export const CANARIES = ["canary-key", "canary-alice", "canary-body"] as const;

export type ClientParts = {
  scheduler: Scheduler;
  random: Random;
  injector: Injector;
  note: (row: Datum) => void;
  nextCall: () => number;
  /** Hands a request to a Worker; `answered` or `lost` comes back, later or never. */
  send: (request: SimRequest, answered: (response: SimResponse) => void, lost: () => void) => void;
};

/** A client that has heard nothing for so long gives up the call. */
const PATIENCE_MS = 45_000;

/** Fields that belong to one exchange only. */
const OF_ONE_EXCHANGE = new Set([
  "idempotency-status",
  "idempotency-replayed",
  "idempotency-created",
  "date",
  "cache-control",
  "set-cookie",
  "content-length",
  "idempotency-expires",
  "x-request-id",
  "idempotency-original-request-id",
]);

export class Client {
  readonly process: Process;
  readonly #parts: ClientParts;
  callsLeft: number;

  constructor(name: string, parts: ClientParts, calls: number) {
    this.process = new Process(name, { offset: 0 }, 0);
    this.#parts = parts;
    this.callsLeft = calls;
  }

  /** Calls until it has an answer for good, or until its calls are used up. `then` is told of the end. */
  begin(key: string, variant: number, then: (isAnswered: boolean) => void): void {
    const { scheduler, random, injector } = this.#parts;
    if (injector.strikes("duplicate")) {
      scheduler.after(random.below(2_000), this.process, "duplicate", () =>
        this.call(key, variant, () => undefined),
      );
    }
    this.#try(key, variant, 0, then);
  }

  #try(key: string, variant: number, tries: number, then: (isAnswered: boolean) => void): void {
    const { scheduler, random } = this.#parts;
    if (this.callsLeft <= 0) {
      then(false);
      return;
    }
    this.call(key, variant, (answer) => {
      if (answer !== null && isFinal(answer)) return then(true);
      const pause = Math.min(500 * 2 ** tries, 30_000) * (0.5 + random.next());
      scheduler.after(pause, this.process, "try again", () => this.#try(key, variant, tries + 1, then));
    });
  }

  /** One call. `ended` is given the answer, or null where there was none. */
  call(key: string, variant: number, ended: (answer: Answered | null) => void): void {
    const { scheduler, note, nextCall, injector, random, send } = this.#parts;
    this.callsLeft -= 1;
    const call = nextCall();
    const given = injector.strikes("other request") ? variant + 1 : variant;
    const mayAsk = !injector.strikes("caller without right");
    note({ do: "call", call, client: this.process.name, key, variant: given, mayAsk });
    let isOpen = true;
    const end = (answer: Answered | null): void => {
      if (!isOpen) return;
      isOpen = false;
      patience.act = null;
      note(answer === null ? { do: "silence", call, key } : { do: "return", call, key, answer });
      ended(answer);
    };
    const patience = scheduler.after(PATIENCE_MS, this.process, "out of patience", () => end(null));
    const request = requestOf(key, given, random.chance(0.2) ? random.between(1, 8) : 0, mayAsk);
    send(
      request,
      (response) => {
        void readAnswer(response).then(end, () => end(null));
      },
      () => end(null),
    );
  }
}

function isFinal({ slug, mark }: Answered): boolean {
  if (slug === "") return mark === "executed" || mark === "replayed";
  return slug === "key-expired" || slug === "answer-not-kept" || slug === "key-reused";
}

function requestOf(key: string, variant: number, waitS: number, mayAsk: boolean): SimRequest {
  const body = new TextEncoder().encode(JSON.stringify({ amount: variant, note: "canary-body" }));
  return new SimRequest(`https://gateway.example/pay/${key}`, {
    method: "POST",
    headers: [
      ["idempotency-key", `canary-key-${key}`],
      ["authorization", "Bearer canary-alice"],
      ["content-type", "application/json"],
      // What a hostile caller would like to be believed.
      ["x-forwarded-host", "elsewhere.example"],
      ["content-length", String(body.length)],
      ...(waitS > 0 ? ([["prefer", `wait=${waitS}`]] as const) : []),
      ["cookie", `right=${mayAsk ? "yes" : "no"}`],
    ],
    body,
  });
}

async function readAnswer(response: SimResponse): Promise<Answered> {
  const body = await readAll(response.body);
  const fields: string[] = [];
  const others: string[] = [];
  for (const [name, value] of response.headers) {
    (OF_ONE_EXCHANGE.has(name) ? others : fields).push(`${name}: ${value}`);
  }
  const isProblem = response.headers.get("content-type") === "application/problem+json";
  const slug = isProblem ? slugOf(body) : "";
  const mark = response.headers.get("idempotency-status") ?? "";
  return {
    status: response.status,
    mark,
    slug,
    body: digestOf(body),
    fields: fields.join("\n"),
    others: others.join("\n"),
  };
}

function slugOf(body: Uint8Array): string {
  const { type } = JSON.parse(new TextDecoder().decode(body)) as { type: string };
  return type.slice(type.lastIndexOf("/") + 1);
}
