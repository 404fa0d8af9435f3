/** What a black-box test file stands on: one gateway, one scripted origin, and the calls every test makes. */
import { afterAll, beforeAll, beforeEach } from "vitest";
import { type Answer, type RequestBody, type RequestSpec, send } from "./client.ts";
import { type Gateway, type GatewayOptions, startGateway } from "./gateway.ts";
import { answerCreated, type Origin, type OriginHandler, startOrigin } from "./origin.ts";
import type { HeaderPair } from "./wire.ts";

export type Call = {
  target: string;
  /** The value of `Idempotency-Key`; null sends no such field. */
  key: string | null;
  method?: string;
  body?: RequestBody;
  /** Sent as `Authorization: Bearer TENANT`; null sends none. Without it: tenant `a`. */
  tenant?: string | null;
  headers?: readonly HeaderPair[];
  timeoutMs?: number;
};

export type Stage = {
  readonly gateway: Gateway;
  readonly origin: Origin;
  /** A POST with JSON media type, unless the call says otherwise, on a connection of its own. */
  post(call: Call): Promise<Answer>;
  /** Any request, on a connection of its own. */
  send(spec: RequestSpec): Promise<Answer>;
};

/** How the gateway is started; a function where the settings name the origin, whose URL it is given. */
export type StageOptions =
  | Omit<GatewayOptions, "origin">
  | ((originUrl: string) => Omit<GatewayOptions, "origin">);

export type Executor = "object" | "worker";
export const EXECUTORS: readonly Executor[] = ["object", "worker"];

let keysMade = 0;

/** A key no other test of the same file uses. */
export function makeKey(): string {
  keysMade += 1;
  return `key-${keysMade}`;
}

/** The policy the field cases start from; its id is its first path segment. */
export function describeRoute(
  segment: string,
  changes: Record<string, unknown> = {},
): Record<string, unknown> {
  const methods = ["POST", "PUT", "PATCH"];
  return {
    id: segment,
    match: `/${segment}/*`,
    methods,
    key: "required",
    window: "1h",
    origin_timeout: "30s",
    ...changes,
  };
}

/** The same policy under both executors, `/object/*` and `/worker/*`; in `/object-brief/*` and `/worker-brief/*` with 1 s for the origin. */
export const EXECUTOR_ROUTES: readonly Record<string, unknown>[] = EXECUTORS.flatMap((executor) => [
  describeRoute(executor, { executor }),
  describeRoute(`${executor}-brief`, { executor, origin_timeout: "1s" }),
]);

/** The request of a call, for those who send it themselves. */
export function describeCall(call: Call): RequestSpec {
  const { method = "POST", target, key, body = "{}", tenant = "a", headers = [], timeoutMs } = call;
  const typed = headers.some(([name]) => name.toLowerCase() === "content-type");
  const pairs: HeaderPair[] = [
    ...(typed ? [] : [["Content-Type", "application/json"] as const]),
    ...(tenant === null ? [] : [["Authorization", `Bearer ${tenant}`] as const]),
    ...(key === null ? [] : [["Idempotency-Key", key] as const]),
    ...headers,
  ];
  const limit = timeoutMs === undefined ? {} : { timeoutMs };
  return { method, target, headers: pairs, body, ...limit };
}

/**
 * Starts a gateway and an origin for the tests of a file or block and stops both after them. Before each test the
 * origin counts from zero and answers 201 with a fresh id. With a `script` it keeps to that and never forgets, for
 * tests that run at the same time.
 */
export function useStage(options: StageOptions, script: OriginHandler | null = null): Stage {
  const held: { gateway: Gateway | null; origin: Origin | null } = { gateway: null, origin: null };
  beforeAll(async () => {
    held.origin = await startOrigin(script ?? answerCreated);
    const settings = typeof options === "function" ? options(held.origin.url) : options;
    held.gateway = await startGateway({ ...settings, origin: held.origin.url });
  });
  beforeEach(() => {
    if (script !== null) return;
    held.origin?.handle(answerCreated);
    held.origin?.forget();
  });
  afterAll(async () => {
    await held.gateway?.stop();
    await held.origin?.close();
  });
  const stage: Stage = {
    get gateway() {
      if (held.gateway === null) throw new Error("the gateway is not started yet");
      return held.gateway;
    },
    get origin() {
      if (held.origin === null) throw new Error("the origin is not started yet");
      return held.origin;
    },
    post: (call) => stage.send(describeCall(call)),
    send: (spec) => send({ port: stage.gateway.port, ...spec }),
  };
  return stage;
}
