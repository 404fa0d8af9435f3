/**
 * One gateway on one store, killed again and again where a queue says, until that is empty. In each life of the process the
 * clients of the last kill try again with the same keys, and others look back at older ones; here and there an object breaks,
 * and the reconciliation runs.
 */
import { allowsBreak, breakOnce, type PlannedBreak } from "./breaks.ts";
import { DRIVES, type Scene, standsStill } from "./drive.ts";
import { type Build, SHARDS } from "./gateway.ts";
import type { FactOf, Operation, Version } from "./history.ts";
import { readLaterRecords } from "./inspect-store.ts";
import type { LedgerWatch } from "./ledger-watch.ts";
import { groupOf, POINTS, type Point } from "./points.ts";
import { beginRun, noteRuns, reconcileOnce } from "./reconciling.ts";
import type { Aimed, KillQueue, PlannedKill } from "./schedule.ts";
import type { ChaosStage } from "./stage.ts";

export type LaneOptions = {
  queue: KillQueue;
  random: () => number;
  watch: LedgerWatch;
  /** Gives the next break of the run. */
  nextBreak: () => PlannedBreak;
  /** Told of every kill. */
  onKill: (kill: number, planned: PlannedKill, hit: boolean) => void;
};

/** Keys that stand at the point of one kill. */
const KEYS_PER_KILL = 3;
/** Keys of earlier kills that are asked after each restart. */
const RECHECKS = 2;
/** The ledger is read whole by its verifier: after every kill at first, then less often. */
const OFTEN_CHECKED_KILLS = 25;
const CHECKED_EVERY = 10;
/** Which build runs, in each tenth of the kills. */
const TENTHS = "this this this this later this later this later later".split(" ") as Version[];
/** Time between two runs of the reconciliation that come to their end. */
const RECONCILED_EVERY_MS = 8_000;
/** Kills between two that fall on a run, in the first half of all: what has died holds its lease for half a minute. */
const RUN_KILLED_EVERY = 50;
const FIRST_RUN_KILLED = 10;
/** A life of the process: the build, the kill it ends with, the break that comes before. */
type Life = { build: Build; aimed: Aimed; broken: PlannedBreak | null };

/** What a life of the process has left to the next one. `kill` 0: there was none before. */
type Past = { kill: number; operations: readonly Operation[]; checking: Promise<FactOf<"verified">> | null };

const NO_PAST: Past = { kill: 0, operations: [], checking: null };

export class Lane {
  readonly #stage: ChaosStage;
  readonly #options: LaneOptions;
  #version: Version = "this";
  #hasBeenLater = false;
  /** What the later build has stored, while this one runs. */
  #left: ReadonlyMap<string, string> = new Map();
  #kills = 0;
  #reconciledAt = performance.now();
  #runKilledAt = FIRST_RUN_KILLED - RUN_KILLED_EVERY;

  constructor(stage: ChaosStage, options: LaneOptions) {
    this.#stage = stage;
    this.#options = options;
  }

  /** Gives the build that runs when it comes back: one that reads all that is stored. */
  async run(): Promise<Build> {
    const { recorder } = this.#stage;
    let past = NO_PAST;
    for (;;) {
      const aimed = this.#options.queue.take();
      await this.#swapTo(this.#versionFor(aimed));
      const build = this.#buildFor(aimed);
      const life = aimed === null ? null : { build, aimed, broken: this.#planBreak(build, aimed) };
      await this.#start(build, life);
      if (past.kill > 0) recorder.note({ kind: "started", kill: past.kill });
      if (life === null) {
        await Promise.all(this.#goOn(past));
        return build;
      }
      past = await this.#live(life, past);
    }
  }

  #planBreak(build: Build, { planned }: Aimed): PlannedBreak | null {
    return build !== "product" && allowsBreak(planned.point) ? this.#options.nextBreak() : null;
  }

  #versionFor(aimed: Aimed | null): Version {
    if (aimed === null) return this.#hasBeenLater ? "later" : "this";
    return TENTHS[Math.min(Math.floor(aimed.progress * TENTHS.length), TENTHS.length - 1)] ?? "this";
  }

  #buildFor(aimed: Aimed | null): Build {
    if (this.#version === "later") return "later";
    return aimed === null ? "product" : POINTS[aimed.planned.point].build;
  }

  /** Nothing runs. What a later build has stored is the same when this one has run on it. */
  async #swapTo(version: Version): Promise<void> {
    if (version === this.#version) return;
    const { recorder, store } = this.#stage;
    const now = await readLaterRecords(store);
    for (const [file, digest] of this.#left) {
      recorder.note({ kind: "left", file, isSame: now.get(file) === digest });
    }
    this.#left = version === "this" ? now : new Map();
    recorder.note({ kind: "swapped", to: version });
    this.#version = version;
    this.#hasBeenLater ||= version === "later";
  }

  /** With the places armed that the life is to come to. */
  async #start(build: Build, life: Life | null): Promise<void> {
    const { control, gateway, caller } = this.#stage;
    const places = [life?.aimed.planned.point, life?.broken?.point].filter((point) => point !== undefined);
    control.arm(places.filter((point) => POINTS[point].build === "gated"));
    await gateway.start(build);
    caller.connectTo(gateway.port);
  }

  /** From the start of a process to its end. */
  async #live(life: Life, past: Past): Promise<Past> {
    const { recorder, caller, origin, control, gateway } = this.#stage;
    const { kill, planned } = life.aimed;
    const { point, executor, crashRule, delayMs, isLate } = planned;
    const others = [...this.#goOn(past), ...this.#lookBack(past), ...this.#disturb(life)];
    const goingOn = Promise.all(others);
    const operations = makeOperations(kill, planned);
    recorder.add(operations);
    // How long a race lasts depends on what else there is to do.
    if (isShort(point)) await goingOn;
    const scene: Scene = { point, operations, delayMs, origin, control, caller, recorder, calls: [] };
    const [isThere] = await Promise.all([DRIVES[point](scene), goingOn]);
    const run = await this.#beginRun(life);
    const hit = isThere && standsStill(scene);
    recorder.note({ kind: "killed", kill, point, executor, crashRule, hit });
    await gateway.kill();
    origin.release(isLate ? "execute" : "drop");
    control.release();
    await Promise.all([...scene.calls, run.over]);
    this.#kills += 1;
    if (run.isBegun && noteRuns(this.#stage)?.ended === null) this.#runKilledAt = this.#kills;
    if (!hit) this.#options.queue.again(planned);
    this.#options.onKill(kill, planned, hit);
    return { kill, operations, checking: this.#check(kill) };
  }

  /** The store is as the kill has left it. */
  #check(kill: number): Past["checking"] {
    const isDue = this.#kills <= OFTEN_CHECKED_KILLS || this.#kills % CHECKED_EVERY === 0;
    if (!isDue) return null;
    const checking = this.#options.watch.check(kill);
    // It is waited for in the next life; until then nobody hears of it.
    checking.catch(() => {});
    return checking;
  }

  /** The clients of the last kill try again, and what it has left of the ledger is noted. */
  #goOn(past: Past): Promise<unknown>[] {
    const retries = past.operations.filter(isRetried);
    return [
      ...retries.map((operation) => this.#stage.caller.call(operation, "retry")),
      this.#noteLedger(past),
    ];
  }

  #lookBack(past: Past): Promise<unknown>[] {
    const { recorder, caller } = this.#stage;
    const older = recorder.history.operations.filter(
      (each) => !each.isBrief && each.crashRule !== "probe" && !past.operations.includes(each),
    );
    const picked = pickSome(older, RECHECKS, this.#options.random);
    return picked.map((operation) => caller.call(operation, "recheck"));
  }

  /** What else there is in a life, and is over before it ends. */
  #disturb({ build, aimed, broken }: Life): Promise<unknown>[] {
    const disturbing = broken === null ? [] : [breakOnce(this.#stage, broken)];
    const isQuiet = build !== "product" && allowsBreak(aimed.planned.point);
    if (!isQuiet || performance.now() - this.#reconciledAt < RECONCILED_EVERY_MS) return disturbing;
    this.#reconciledAt = performance.now();
    return [...disturbing, reconcileOnce(this.#stage)];
  }

  /** Now and then the kill falls on a run of the reconciliation. Resolves when one has begun, to what is over when the process is. */
  async #beginRun({ build, aimed }: Life): Promise<{ isBegun: boolean; over: Promise<unknown> }> {
    const isDue = this.#kills >= this.#runKilledAt + RUN_KILLED_EVERY && aimed.progress < 0.5;
    const canBegin = build !== "product" && !isShort(aimed.planned.point);
    if (!isDue || !canBegin) return { isBegun: false, over: Promise.resolve() };
    return { isBegun: true, over: (await beginRun(this.#stage)).over };
  }

  async #noteLedger({ checking }: Past): Promise<void> {
    if (checking === null) return;
    this.#stage.recorder.note(await checking);
    for (let shard = 0; shard < SHARDS; shard += 1) await this.#stage.caller.readCheckpoint(`1:${shard}`);
  }
}

/** Whether what stands there would not stand long, or nothing stands there at all. */
function isShort(point: Point): boolean {
  return POINTS[point].build === "product" || POINTS[point].delayMsMax > 0;
}

/** Nobody may call twice with a brief key. One of those whose origin can be asked is left alone, and has to end by itself. */
function isRetried({ isBrief, crashRule }: Operation, index: number): boolean {
  return !isBrief && (crashRule !== "probe" || index > 0);
}

function makeOperations(kill: number, { point, executor, crashRule }: PlannedKill): Operation[] {
  return Array.from({ length: KEYS_PER_KILL }, (_, n) => ({
    key: `key-${kill}-${n + 1}`,
    executor,
    crashRule,
    point,
    kill,
    isBrief: groupOf(point) === "c12",
  }));
}

function pickSome<Item>(items: readonly Item[], count: number, random: () => number): Item[] {
  if (items.length === 0) return [];
  const picked = Array.from({ length: count }, () => items[Math.floor(random() * items.length)]);
  return [...new Set(picked.filter((item) => item !== undefined))];
}
