/** Where a kill is aimed, and how often. */
import type { CrashRule, Executor } from "./history.ts";

/** Crash points of a request's life, in its order. */
export const CRASH_POINTS = [
  "c1",
  "c2",
  "c3",
  "c4",
  "c5",
  "c6",
  "c7",
  "c8",
  "c9",
  "c10",
  "c11",
  "c12",
] as const;

/** What a point's kills count for: a crash point, a gap of the ledger, a write of D1, a way out of unknown, or a race that ends on any side. */
export type Group = (typeof CRASH_POINTS)[number] | "ledger" | "database" | "probe" | "race";

type Aimed = {
  group: Group;
  /** `gated`: the gateway itself stands still there. `product`: the origin or a client does, with the build that is deployed. */
  build: "product" | "gated";
  rules: readonly CrashRule[];
  /** Longest time from reaching the point to the kill, where it is a race; in milliseconds. */
  delayMsMax: number;
};

const HOLD = ["hold"] as const;
const EACH = ["hold", "retry", "probe", "probe"] as const;
const PROBE = ["probe"] as const;
const HOLD_PROBE = ["hold", "probe"] as const;

export const POINTS = {
  /** The client is still sending its body. */
  "body-sending": { group: "c1", build: "product", rules: HOLD_PROBE, delayMsMax: 120 },
  /** The Worker has the whole request; the key's object has heard nothing. */
  unclaimed: { group: "c1", build: "gated", rules: HOLD_PROBE, delayMsMax: 0 },
  /** The key's object has the claim and has not begun with it. */
  "begin-received": { group: "c2", build: "gated", rules: EACH, delayMsMax: 0 },
  /** The claim is stored; the object breaks before it has said so, and whoever called it lives. The kill comes after. */
  "grant-unheard": { group: "c3", build: "gated", rules: EACH, delayMsMax: 0 },
  /** The claim is stored and granted; nothing was sent. */
  granted: { group: "c4", build: "gated", rules: EACH, delayMsMax: 0 },
  /** The origin has the whole request and has done nothing. */
  "on-the-wire": { group: "c5", build: "product", rules: EACH, delayMsMax: 0 },
  /** The origin has had its effect and has not said a byte. */
  "effect-done": { group: "c6", build: "product", rules: EACH, delayMsMax: 0 },
  /** The origin has sent half of its answer's body. */
  "answer-begun": { group: "c6", build: "product", rules: EACH, delayMsMax: 20 },
  /** The answer is read and not stored. */
  "answer-read": { group: "c7", build: "gated", rules: EACH, delayMsMax: 0 },
  /** The answer is stored; whoever waits for that has not been told. */
  settled: { group: "c8", build: "gated", rules: EACH, delayMsMax: 0 },
  /** The Worker has the stored answer in its hands. */
  "answer-ready": { group: "c9", build: "gated", rules: HOLD_PROBE, delayMsMax: 0 },
  /** The client has its answer. */
  "answer-given": { group: "c9", build: "product", rules: HOLD_PROBE, delayMsMax: 0 },
  /** Entries are stored with the answer; the ledger has heard nothing. */
  "outbox-full": { group: "c10", build: "gated", rules: EACH, delayMsMax: 0 },
  /** The ledger has the entries and has not said so. */
  appended: { group: "c11", build: "gated", rules: EACH, delayMsMax: 0 },
  /** A key's window is over; the ledger does not have its last entry. */
  "purge-due": { group: "c12", build: "gated", rules: HOLD, delayMsMax: 0 },
  /** The ledger has a key's last entry; the key's storage is not wiped. */
  "purge-told": { group: "c12", build: "gated", rules: HOLD, delayMsMax: 0 },
  /** A shard has entries and has stored none. */
  "append-received": { group: "ledger", build: "gated", rules: HOLD, delayMsMax: 0 },
  /** The key's object knows what the ledger has, and has stored nothing of that. */
  acknowledged: { group: "ledger", build: "gated", rules: HOLD, delayMsMax: 0 },
  /** A shard begins to bring staged lines out. */
  "round-begun": { group: "ledger", build: "gated", rules: HOLD, delayMsMax: 0 },
  /** The new head is signed and stored; D1 has nothing of it. */
  "head-signed": { group: "ledger", build: "gated", rules: HOLD, delayMsMax: 0 },
  /** D1 has bundles that the shard doesn't know of. */
  "bundles-written": { group: "ledger", build: "gated", rules: HOLD, delayMsMax: 0 },
  /** The shard knows that D1 has them; the checkpoint is not there. */
  "bundles-noted": { group: "ledger", build: "gated", rules: HOLD, delayMsMax: 0 },
  /** D1 has the checkpoint; the shard shows the one before. */
  "checkpoint-written": { group: "ledger", build: "gated", rules: HOLD, delayMsMax: 0 },
  /** The shard shows the checkpoint; its round is not over. */
  shown: { group: "ledger", build: "gated", rules: HOLD, delayMsMax: 0 },
  /** D1 is writing. */
  "database-writing": { group: "database", build: "gated", rules: HOLD, delayMsMax: 6 },
  /** The origin has said what became of an attempt; its word is not stored. */
  "probe-heard": { group: "probe", build: "gated", rules: PROBE, delayMsMax: 0 },
  /** The origin has reset one call and cut the answer to another; a third hangs. */
  "origin-failing": { group: "probe", build: "product", rules: PROBE, delayMsMax: 40 },
  /** The client has sent its last byte a moment ago. */
  "body-sent": { group: "race", build: "product", rules: HOLD, delayMsMax: 40 },
  /** The origin has sent its last byte a moment ago. */
  "answer-ended": { group: "race", build: "product", rules: HOLD, delayMsMax: 14 },
  /** Replays of a settled key are under way. */
  replaying: { group: "race", build: "product", rules: HOLD, delayMsMax: 30 },
  /** Duplicates wait for the answer of a call that the origin holds. */
  waiting: { group: "race", build: "product", rules: HOLD, delayMsMax: 120 },
} as const satisfies Record<string, Aimed>;

export type Point = keyof typeof POINTS;
export type GatedPoint = { [P in Point]: (typeof POINTS)[P]["build"] extends "gated" ? P : never }[Point];

export const POINT_NAMES = Object.keys(POINTS) as Point[];

export function groupOf(point: Point): Group {
  return POINTS[point].group;
}

export type Aim = { point: Point; executor: Executor; crashRule: CrashRule };

/** What a quota counts: kills of a crash point, of one gap of the ledger, of D1's writes, of one race. */
export function bucketOf(point: Point): string {
  const group = groupOf(point);
  return group === "ledger" || group === "probe" || group === "race" ? point : group;
}

/** Shares of a crash point, of a gap of the ledger, of D1's writes, of a way out of unknown and of a race. */
export type Mix = "long" | "short";

/** Of 1,500 kills the long mix gives at least 100 to each crash point and 20 to each gap; the short one is made for 150 kills. */
const SHARES: Readonly<
  Record<Mix, { crash: number; ledger: number; database: number; probe: number; race: number }>
> = {
  long: { crash: 102, ledger: 20, database: 20, probe: 20, race: 14 },
  short: { crash: 8, ledger: 3, database: 20, probe: 3, race: 1 },
};

export function shareOf(point: Point, mix: Mix): number {
  const group = groupOf(point);
  const shares = SHARES[mix];
  return group in shares ? shares[group as keyof typeof shares] : shares.crash;
}

/** All combinations of point, executor and crash rule that a run aims at. */
export function listAims(executors: readonly Executor[], points: readonly Point[]): Aim[] {
  return points.flatMap((point) =>
    executors.flatMap((executor) =>
      POINTS[point].rules.map((crashRule): Aim => ({ point, executor, crashRule })),
    ),
  );
}
