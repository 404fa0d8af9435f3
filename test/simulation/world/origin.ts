/**
 * The API behind the gateway: a payment service that counts what it really does, keeps a journal that outlives its restarts, and can be asked
 * what became of an effect or told to let it never happen. Answers like the worst of its kind.
 */
import type { Datum } from "../check/history.ts";
import { digestOf } from "./digest.ts";
import type { Injector } from "./faults.ts";
import type { SimHeaders } from "./fields.ts";
import { SimResponse } from "./http.ts";
import type { Random } from "./random.ts";
import { Process, type Scheduler } from "./scheduler.ts";

export type Sent = { url: string; method: string; headers: SimHeaders; body: Uint8Array };

type Reply = { status: number; headers: [string, string][]; body: string };

/** What comes back over the wire: nothing yet, a broken line, or an answer that may be cut short. */
export type Wire = { respond: (response: unknown) => void; break: () => void; isOpen: () => boolean };

type Journal = { kind: "executed"; reply: Reply; execution: number } | { kind: "void" };

export type OriginParts = {
  scheduler: Scheduler;
  random: Random;
  injector: Injector;
  note: (row: Datum) => void;
  /** Signs that an attempt had no effect. */
  evidence: (effect: string, attempt: string) => string;
  releaseStatus: number;
  /** By how much its work may be late, at most. */
  originLateMs: number;
};

/** In the form of a proof, under nobody's key. */
const FORGED = `none; mac="${"A".repeat(43)}="`;

const REPLY_MS_MAX = 400;
const PROBE_SLOW_MS = 9_000;

export class Origin {
  readonly process = new Process("origin", { offset: 0 }, 0);
  readonly #parts: OriginParts;
  readonly #journal = new Map<string, Journal>();
  /** Answers by the client's own key, where the route sends one. */
  readonly #byKey = new Map<string, Reply>();
  readonly #wires = new Set<Wire>();
  #executions = 0;

  constructor(parts: OriginParts) {
    this.#parts = parts;
  }

  /** All connections end; what has happened stays known. */
  restart(): void {
    for (const wire of this.#wires) wire.break();
    this.#wires.clear();
  }

  /** What a person is told who asks about an effect: the answer it was given, or null, and then it is void from now on. */
  attest(
    effect: string,
  ): { status: number; headers: readonly (readonly [string, string])[]; body: Uint8Array } | null {
    const known = this.#journal.get(effect);
    if (known?.kind !== "executed") {
      this.#journal.set(effect, { kind: "void" });
      this.#parts.note({ do: "void", key: "", effect });
      return null;
    }
    const { status, headers, body } = known.reply;
    this.#parts.note({ do: "reply", key: "", effect, status, body: digestOf(body), whole: true });
    return { status, headers, body: new TextEncoder().encode(body) };
  }

  receive(sent: Sent, wire: Wire): void {
    this.#wires.add(wire);
    const path = new URL(sent.url).pathname;
    if (path.startsWith("/effects/")) this.#answerProbe(path, wire);
    else this.#answerPayment(path.slice("/pay/".length), sent, wire);
  }

  #after(ms: number, label: string, act: () => void): void {
    this.#parts.scheduler.after(ms, this.process, label, act);
  }

  #answerProbe(path: string, wire: Wire): void {
    const { injector, random } = this.#parts;
    const [, , effect = "", deed] = path.split("/");
    if (injector.strikes("probe lost")) {
      wire.break();
      return;
    }
    if (injector.strikes("probe redirects")) {
      const location = `https://${random.pick(["origin", "elsewhere"])}.example${path}`;
      wire.respond(respond({ status: 307, headers: [["location", location]], body: "" }));
      return;
    }
    const known = this.#journal.get(effect);
    const say = (body: unknown): void => {
      this.#after(
        injector.strikes("probe slow") ? random.below(PROBE_SLOW_MS) : random.below(REPLY_MS_MAX),
        "probe answered",
        () =>
          wire.respond(
            respond({
              status: 200,
              headers: [["content-type", "application/json"]],
              body: JSON.stringify(body),
            }),
          ),
      );
    };
    if (known?.kind === "executed") {
      const { status, headers, body } = known.reply;
      this.#parts.note({ do: "reply", key: "", effect, status, body: digestOf(body), whole: true });
      say({ outcome: "committed", answer: { status, headers, body } });
      return;
    }
    if (deed === "void") {
      this.#journal.set(effect, { kind: "void" });
      this.#parts.note({ do: "void", key: "", effect });
      say({ outcome: "void" });
      return;
    }
    say({ outcome: "none" });
  }

  #answerPayment(key: string, sent: Sent, wire: Wire): void {
    const { injector, random, note } = this.#parts;
    const effect = sent.headers.get("effect-id") ?? "";
    const attempt = sent.headers.get("effect-attempt") ?? "0";
    const dedupe = sent.headers.get("idempotency-key") ?? "";
    const { amount } = JSON.parse(new TextDecoder().decode(sent.body)) as { amount: number };
    note({ do: "arrive", key, effect, attempt: Number(attempt), dedupe, variant: amount });
    const dispatch: Dispatch = { key, effect, attempt, dedupe, wire };
    const workMs = injector.strikes("origin is slow")
      ? random.below(this.#parts.originLateMs)
      : random.below(REPLY_MS_MAX);
    if (this.#journal.get(effect)?.kind === "void") {
      this.#refuse(dispatch, 409, "void");
      return;
    }
    if (injector.strikes("origin resets before")) {
      wire.break();
      return;
    }
    if (injector.strikes("path never sent")) {
      this.#refuse(dispatch, 521, "never sent");
      return;
    }
    if (injector.strikes("origin refuses without effect")) {
      this.#refuse(dispatch, random.pick([this.#parts.releaseStatus, 421, 425]), "status");
      return;
    }
    if (injector.strikes("origin proves no effect")) {
      this.#refuse(dispatch, random.pick([503, 422]), "signed");
      return;
    }
    if (injector.strikes("origin fails before effect")) {
      this.#say(dispatch, { status: random.pick([500, 503]), headers: [], body: `failed before ${effect}` });
      return;
    }
    if (injector.strikes("path speaks")) {
      const isDone = random.chance(0.5);
      if (isDone) {
        this.#after(workMs, "origin works", () => {
          if (this.#journal.get(effect)?.kind !== "void") this.#execute(dispatch);
        });
      }
      this.#say(dispatch, {
        status: random.pick([502, 504, 520, 522, 524, 530]),
        headers: [],
        body: `the path of ${effect}`,
      });
      return;
    }
    this.#after(workMs, "origin works", () => this.#work(dispatch));
  }

  #work(dispatch: Dispatch): void {
    const { injector, random } = this.#parts;
    // It may have been told meanwhile that this is never to happen.
    if (this.#journal.get(dispatch.effect)?.kind === "void") {
      this.#refuse(dispatch, 409, "void");
      return;
    }
    if (injector.strikes("origin redirects")) {
      const status = random.pick([307, 308, 303]);
      this.#say(dispatch, {
        status,
        headers: [
          ["location", `https://${random.pick(["origin", "elsewhere"])}.example/pay/${dispatch.key}`],
        ],
        body: `elsewhere ${dispatch.effect}`,
      });
      return;
    }
    const reply = this.#execute(dispatch);
    if (injector.strikes("origin hangs")) return;
    if (injector.strikes("origin resets after")) {
      dispatch.wire.break();
      return;
    }
    if (injector.strikes("origin fails after effect")) {
      this.#say(dispatch, {
        status: random.pick([500, 503]),
        headers: [],
        body: `failed after ${dispatch.effect}`,
      });
      return;
    }
    if (injector.strikes("origin echoes evidence")) {
      const headers: [string, string][] = [...reply.headers, ["effect-evidence", FORGED]];
      this.#say(dispatch, { ...reply, headers });
      return;
    }
    this.#say(dispatch, reply);
  }

  #execute({ key, effect, dedupe }: Dispatch): Reply {
    const { note, random, injector } = this.#parts;
    const known = dedupe === "" ? undefined : this.#byKey.get(dedupe);
    if (known !== undefined) {
      const earlier = this.#journal.get(effect);
      if (earlier === undefined) this.#journal.set(effect, { kind: "executed", reply: known, execution: 0 });
      return known;
    }
    this.#executions += 1;
    const execution = this.#executions;
    note({ do: "execute", key, effect, execution });
    const filler = injector.strikes("origin answers at length") ? "x".repeat(4_000) : "";
    const body = JSON.stringify({ charge: `${key}-${execution}`, filler });
    const status = random.pick([201, 201, 201, 200, 402]);
    const type: [string, string] = injector.strikes("origin streams")
      ? ["content-type", "text/event-stream"]
      : ["content-type", "application/json"];
    const reply: Reply = {
      status,
      headers: [
        type,
        ["x-request-id", `r${execution}`],
        ["set-cookie", `session=${execution}`],
        ["x-charge", String(execution)],
      ],
      body,
    };
    this.#journal.set(effect, { kind: "executed", reply, execution });
    if (dedupe !== "") this.#byKey.set(dedupe, reply);
    return reply;
  }

  /** An answer that says, truly, that nothing was done and nothing will be. */
  #refuse(dispatch: Dispatch, status: number, how: string): void {
    const { key, effect, attempt } = dispatch;
    this.#parts.note({ do: "deny", key, effect, how });
    const headers: [string, string][] =
      how === "signed" ? [["effect-evidence", this.#parts.evidence(effect, attempt)]] : [];
    this.#say(dispatch, { status, headers, body: `refused ${how} ${effect}` });
  }

  #say({ key, effect, wire }: Dispatch, reply: Reply): void {
    const { random, injector, note } = this.#parts;
    const isCut = injector.strikes("origin cuts its answer");
    this.#after(random.below(REPLY_MS_MAX), "origin answers", () => {
      this.#wires.delete(wire);
      if (!wire.isOpen()) return;
      note({ do: "reply", key, effect, status: reply.status, body: digestOf(reply.body), whole: !isCut });
      wire.respond(isCut ? cutShort(reply) : respond(reply));
    });
  }
}

type Dispatch = { key: string; effect: string; attempt: string; dedupe: string; wire: Wire };

function respond({ status, headers, body }: Reply): SimResponse {
  const length: [string, string] = ["content-length", String(body.length)];
  const isStream = headers.some(([, value]) => value === "text/event-stream");
  return new SimResponse(isStream ? streamOf(body) : body, {
    status,
    headers: isStream ? headers : [...headers, length],
  });
}

function streamOf(body: string): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(new TextEncoder().encode(body));
      controller.close();
    },
  });
}

/** The head is whole, the body ends early. */
function cutShort({ status, headers, body }: Reply): SimResponse {
  const stream = new ReadableStream<Uint8Array>({
    pull(controller) {
      controller.error(new Error("the connection was lost"));
    },
  });
  return new SimResponse(stream, { status, headers: [...headers, ["content-length", String(body.length)]] });
}
