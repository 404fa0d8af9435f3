/**
 * Step 6: one request to the origin, sent once. Redirects are answers, a deadline covers headers and body, and every fault comes
 * back as a value: the runtime marks lost answers "retryable", and an exception that escaped from here would be repeated.
 */
import { isStillCoded, type Pairs, toFields } from "../core/http/headers.ts";
import { EFFECT_TOKEN_MS } from "../core/limits.ts";
import type { OriginAddress } from "../core/policy.ts";
import type {
  Attempt,
  Budget,
  Came,
  Keyring,
  OriginPort,
  OriginRequest,
  SignedEvidence,
} from "../core/ports.ts";
import { type Clock, startClock } from "./clock.ts";
import type { OriginMacs } from "./evidence.ts";
import { readBody } from "./read-body.ts";

/** How a request leaves: `fetch` for an address, the binding's own for another Worker. */
export type Send = (url: string, init: RequestInit) => Promise<Response>;

/** The URL of a target at the origin. The target was normalised once and is not read again here. */
export function originUrl(address: OriginAddress, target: string): string {
  return `${address.kind === "url" ? address.base : "https://origin"}${address.prefix}${target}`;
}

export function openOrigin(
  address: OriginAddress,
  send: Send,
  keyring: Keyring,
  macs: OriginMacs,
): OriginPort {
  return {
    async dispatch(request, attempt, budget, stop) {
      const clock = startClock(budget.budgetMs, stop);
      const came = await exchange(request, attempt, budget, clock);
      if (came.kind !== "open") clock.end();
      return came;
    },
  };

  async function exchange(
    request: OriginRequest,
    attempt: Attempt,
    budget: Budget,
    clock: Clock,
  ): Promise<Came> {
    let init: RequestInit;
    try {
      const bytes = await request.body();
      const body = bytes.byteLength > 0 ? { body: bytes } : {};
      const headers = await fieldsOf(request, attempt);
      init = { method: request.method, headers, redirect: "manual", signal: clock.signal, ...body };
    } catch {
      return { kind: "unsent" };
    }
    let response: Response;
    try {
      response = await send(originUrl(address, request.target), init);
    } catch {
      // Nothing tells a request that never left from one whose answer was lost: a refused connection looks like a cut one.
      return { kind: "lost", reason: clock.isOver() ? "timeout" : "connection-lost" };
    }
    const evidence = await macs.readEvidence(response.headers.get("effect-evidence"), attempt);
    return readAnswer(response, budget, clock, evidence);
  }

  async function fieldsOf(request: OriginRequest, attempt: Attempt): Promise<HeadersInit> {
    const expiresAt = Date.now() + EFFECT_TOKEN_MS;
    const token = await keyring.effectToken(attempt.name, attempt.effect, attempt.n, expiresAt);
    return toFields([
      ...request.headers,
      ["Effect-Id", attempt.effect],
      ["Effect-Attempt", String(attempt.n)],
      ["Effect-Token", token],
    ]);
  }
}

async function readAnswer(
  response: Response,
  budget: Budget,
  clock: Clock,
  evidence: SignedEvidence,
): Promise<Came> {
  const { status } = response;
  const headers: Pairs = [...response.headers];
  const isReadable = !isStillCoded(response.headers.get("transfer-encoding"));
  if (isReadable && isEventStream(response.headers) && response.body !== null) {
    clock.restart(budget.streamMs);
    return { kind: "open", status, headers, body: clock.guard(response.body), evidence };
  }
  const read = await readBody(response, budget.bodyBytesMax);
  switch (read.kind) {
    case "whole":
      return { kind: "whole", status, headers, body: read.bytes, evidence };
    case "over":
      return { kind: "open", status, headers, body: clock.guard(read.stream), evidence };
    case "broken":
      return { kind: "lost", reason: clock.isOver() ? "timeout" : "body-broken" };
  }
}

function isEventStream(headers: Headers): boolean {
  return /^\s*text\/event-stream\s*(;|$)/i.test(headers.get("content-type") ?? "");
}
