/** What a run is about: settings of the route, how many clients and keys, how long things go wrong. */
import type { RoutePolicy } from "../../../src/core/policy.ts";
import type { Random } from "./random.ts";

export type Scenario = {
  /** Settings of the first build and of the one that may follow it. */
  policies: readonly [RoutePolicy, RoutePolicy];
  /** Of an answer without effect, as the route's owner asserts. */
  releaseStatus: number;
  clients: number;
  keys: number;
  callsPerClient: number;
  healAt: number;
  shards: number;
  hasLedger: boolean;
  hasDatabase: boolean;
  /** By how much machines differ in time from the beginning, at most. */
  skewMs: number;
  /** By how much a request may be late on its way to the origin, and again in its work, at most. */
  originLateMs: number;
  /** The largest step of a clock. A route that believes what a probe has merely not seen depends on the time that has passed. */
  clockStepMs: number;
  probing: "none" | "observed" | "sealed";
  copies: boolean;
  /** Bundles of the ledger are full after a few lines. */
  hasSmallBundles: boolean;
  retentionMs: number;
};

const SECOND = 1_000;

/** So long an executor may be paused: longer than every timeout there is. */
export const PAUSE_MS_MAX = 300 * SECOND;

/** What the origin may take to begin, on its way there and in its work, with what clocks may be moved in a run; no pause is in it. */
const ORIGIN_DELAY_MS = 380 * SECOND;
const ORIGIN_LATE_MS = 120 * SECOND;

/**
 * The same of a prompt origin. Here a pause between a grant and its dispatch would make a belief unsound, so the Worker runs attempts:
 * it asks before it sends what it was granted late.
 */
const PROMPT_DELAY_MS = 40 * SECOND;
const PROMPT_LATE_MS = 5 * SECOND;

/** A stream that has ended is forgotten with its bodies: by then its key's object has been told of that, after the longest pauses. */
const SHORT_RETENTION_MS = 1_500 * SECOND;
const LONG_RETENTION_MS = 7_776_000 * SECOND;

const RELEASE_STATUS = 429;

export function drawScenario(
  random: Random,
  base: RoutePolicy,
  share: { ledger: number; clients: number },
): Scenario {
  const isLarge = random.chance(0.3);
  const probing = random.pick(["none", "sealed", "sealed", "observed"] as const);
  const onCrash = random.chance(0.25) ? "retry" : "hold";
  const timing = drawTiming(random);
  const isPrompt = probing === "observed" && random.chance(0.6);
  const drawExecutor = () => (isPrompt ? "worker" : random.pick(["object", "worker"] as const));
  const first: RoutePolicy = {
    ...base,
    ...timing,
    executor: drawExecutor(),
    onCrash,
    originKey: onCrash === "retry" ? { send: "derived", header: "Idempotency-Key" } : { send: "none" },
    probe:
      probing === "none"
        ? null
        : {
            url: "/effects/{effect_id}",
            sealUrl: probing === "sealed" ? "/effects/{effect_id}/void" : null,
            notFound: "unknown",
            originDelayMsMax: isPrompt ? PROMPT_DELAY_MS : ORIGIN_DELAY_MS,
          },
    authorize: random.chance(0.15) ? "https://rights.example/ask" : null,
    responseBytesMax: 2_000,
    releaseStatuses: [RELEASE_STATUS],
    sealWithKey: random.chance(0.1),
    audit: random.pick(["eager", "durable"]),
    quota: random.chance(0.2) ? { newKeysPerMinute: random.pick([1, 1, 2]) } : null,
  };
  const second: RoutePolicy = {
    ...first,
    ...drawTiming(random),
    executor: drawExecutor(),
  };
  const hasLedger = random.chance(share.ledger);
  const hasSmallBundles = random.chance(0.4);
  return {
    policies: [first, second],
    releaseStatus: RELEASE_STATUS,
    clients: random.between(1, isLarge ? share.clients : Math.min(2, share.clients)),
    keys: isLarge ? random.pick([1, 1, 2]) : 1,
    callsPerClient: isLarge ? random.between(3, 9) : random.between(1, 4),
    healAt: random.between(10, random.pick([60, 200, 600])) * SECOND,
    shards: random.pick([1, 2]),
    hasLedger,
    hasDatabase: hasLedger && random.chance(0.6),
    skewMs: random.pick([0, 0, 10 * SECOND, 3_600 * SECOND]),
    originLateMs: isPrompt ? PROMPT_LATE_MS : ORIGIN_LATE_MS,
    clockStepMs: isPrompt ? PROMPT_LATE_MS : probing === "observed" ? 60 * SECOND : 7_200 * SECOND,
    probing,
    copies: random.chance(0.03),
    hasSmallBundles,
    retentionMs: hasSmallBundles ? SHORT_RETENTION_MS : LONG_RETENTION_MS,
  };
}

function drawTiming(random: Random) {
  const originTimeoutMs = random.pick([1_000, 4_000, 25_000] as const);
  return {
    originTimeoutMs,
    executionMsMax: originTimeoutMs + random.pick([0, 10_000, 60_000]),
    windowMs: random.pick([30, 90, 240]) * SECOND,
    quarantineMs: random.pick([0, 20, 60]) * SECOND,
    waitMsMax: 8_000,
  };
}
