/** One run: clients, Workers, key objects, ledger, database, origin and an injector, from the first call until nothing is left to happen. */
import type { Datum, History, LedgerView, Left, Remains, Row } from "../check/history.ts";
import { Client } from "./client.ts";
import { SimDatabase, type Sqlite } from "./database.ts";
import { deployNext, doDeed, NEXT_BUILD, type Site, type State } from "./deeds.ts";
import type { Base, Deployment, Surroundings } from "./deployment.ts";
import { type Damping, drawSwarm, Injector } from "./faults.ts";
import { type FieldsInit, SimHeaders } from "./fields.ts";
import { startRun } from "./globals.ts";
import type { Host } from "./host.ts";
import { Hosts } from "./hosts.ts";
import { SimResponse } from "./http.ts";
import { readLedger, readLeft, readRemains } from "./look.ts";
import { Network, ORIGIN_REACH } from "./network.ts";
import { Origin } from "./origin.ts";
import { Random } from "./random.ts";
import { drawScenario, PAUSE_MS_MAX, type Scenario } from "./scenario.ts";
import { type Clock, OUTSIDE, Scheduler, type Task } from "./scheduler.ts";
import { Staff } from "./staff.ts";
import { surround } from "./surroundings.ts";
import { Workers } from "./workers.ts";

const ISOLATES = 2;
const EVENTS_MAX = 20_000;
const SECOND = 1_000;
/** After the last fault: all pauses between tries are over, and the longest between two probes. */
const RESTED_MS = 2_900 * SECOND;
/** By then the calls that come last have been answered, and what they left is over too. */
const REST_MS = RESTED_MS + 2_000 * SECOND;
/** Longer than what an alarm has begun takes when nothing goes wrong, shorter than from one alarm to the next. */
const LAST_WORD_MS = 5 * SECOND;

export type RunOptions = {
  seed: number;
  damping: Damping;
  share: { ledger: number; clients: number };
  /** Gets every event and row as it comes; null: nobody looks. */
  trace: ((text: string) => void) | null;
};

/** What may be deployed in a run. */
export type Builds = { product: Deployment; next: Deployment; base: Base };

export class World {
  readonly #product: Deployment;
  readonly #base: Base;
  readonly #options: RunOptions;
  readonly #random: Random;
  readonly #scheduler: Scheduler;
  readonly #scenario: Scenario;
  readonly #injector: Injector;
  readonly #network: Network;
  readonly #origin: Origin;
  readonly #database: SimDatabase;
  readonly #around: Surroundings;
  readonly #hosts: Hosts;
  readonly #workers: Workers;
  readonly #staff: Staff;
  readonly #rows: Row[] = [];
  readonly #marks = new Map<string, number>();
  readonly #clients: Client[] = [];
  readonly #state: State = {
    version: 0,
    clocks: { backMs: 0, whose: new Set() },
    isDatabaseDown: false,
    isLedgerDown: false,
  };
  #rested: readonly Left[] | null = null;
  #calls = 0;

  constructor({ product, next, base }: Builds, sqlite: Sqlite, options: RunOptions) {
    this.#product = product;
    this.#base = base;
    this.#options = options;
    const { seed } = options;
    this.#random = new Random(seed, 0);
    const note = (row: Datum): void => this.#note(row);
    const mark = (name: string): void => this.#mark(name);
    this.#scheduler = this.#startScheduler();
    const drawing = new Random(seed, 1);
    this.#scenario = drawScenario(drawing, product.basePolicy(base), options.share);
    this.#injector = new Injector(drawSwarm(drawing, options.damping), new Random(seed, 3), mark);
    const parts = { scheduler: this.#scheduler, random: new Random(seed, 4), injector: this.#injector, note };
    const { originLateMs } = this.#scenario;
    this.#network = new Network({ ...parts, originLateMs });
    const evidence = (effect: string, attempt: string): string => this.#signEvidence(effect, attempt);
    this.#origin = new Origin({
      ...parts,
      evidence,
      originLateMs,
      releaseStatus: this.#scenario.releaseStatus,
    });
    const isDown = (): boolean => this.#state.isDatabaseDown && !this.#injector.isHealed;
    this.#database = new SimDatabase(sqlite, { ...parts, isDown });
    const around = (): Surroundings => this.#around;
    const version = (): number => this.#state.version;
    const clock = (): Clock => this.#drawClock();
    const { hasDatabase, copies, hasSmallBundles } = this.#scenario;
    const published = (shard: string): number | null => (hasDatabase ? this.#database.readEnd(shard) : null);
    const buildOf = (given: number): Deployment => (given === NEXT_BUILD ? next : product);
    const common = { ...parts, seed, product: buildOf, base, version, clock, mark };
    this.#hosts = new Hosts({ ...common, around, copies, published, hasSmallBundles });
    this.#around = surround({
      scenario: this.#scenario,
      injector: this.#injector,
      state: this.#state,
      network: this.#network,
      hosts: this.#hosts,
      origin: this.#origin,
      database: this.#database,
    });
    this.#staff = new Staff({ ...common, around: this.#around, origin: this.#origin });
    const openFront = (build: number) => buildOf(build).openFront(base, this.#around, build);
    this.#workers = new Workers(
      { ...common, random: this.#random, network: this.#network, openFront },
      ISOLATES,
    );
  }

  #startScheduler(): Scheduler {
    const { trace, seed } = this.#options;
    const onEvent = (task: Task): void => trace?.(`${task.at} ${task.process.name}: ${task.label}`);
    const onThrow = (error: unknown): void => this.#note({ do: "defect", text: `thrown: ${String(error)}` });
    const scheduler = new Scheduler(trace === null ? null : onEvent, onThrow);
    startRun({
      scheduler,
      random: new Random(seed, 2),
      log: (text) => this.#note({ do: "log", text }),
      fetch: (url, init) => this.#askRights(url, init),
      escaped: (error) => this.#note({ do: "defect", text: `nobody listened: ${String(error)}` }),
    });
    return scheduler;
  }

  #mark(name: string): void {
    this.#marks.set(name, (this.#marks.get(name) ?? 0) + 1);
  }

  #note(row: Datum): void {
    const at = this.#scheduler.now;
    this.#rows.push({ ...row, at });
    if (row.do === "return" && row.answer.slug === "quota-exceeded") this.#mark("quota exhausted");
    if (row.do === "pruned") this.#mark("bodies deleted");
    this.#options.trace?.(`      ${JSON.stringify({ at, ...row })}`);
  }

  #signEvidence(effect: string, attempt: string): string {
    let signed = "";
    this.#scheduler.enter(OUTSIDE, () => {
      void this.#product.signEvidence(this.#base, effect, attempt).then((made) => {
        signed = made;
      });
    });
    return signed;
  }

  async #askRights(url: string, init: RequestInit): Promise<unknown> {
    this.#note({ do: "connect", to: url });
    const isAllowed = new SimHeaders(init.headers as FieldsInit).get("cookie") === "right=yes";
    return new SimResponse(null, { status: isAllowed ? 200 : 403 });
  }

  #drawClock(): Clock {
    const { skewMs } = this.#scenario;
    return { offset: this.#random.between(-skewMs, skewMs) };
  }

  #planClients(): void {
    const { clients, keys, callsPerClient, healAt } = this.#scenario;
    for (let i = 0; i < clients; i++) {
      const client: Client = new Client(
        `client${i}`,
        {
          scheduler: this.#scheduler,
          random: new Random(this.#options.seed, 100 + i),
          injector: this.#injector,
          note: (row) => this.#note(row),
          nextCall: () => {
            this.#calls += 1;
            return this.#calls;
          },
          send: (request, answered, lost) => this.#workers.send(client, request, answered, lost),
        },
        callsPerClient,
      );
      this.#clients.push(client);
      for (let key = 0; key < keys; key++) {
        if (i > 0 && this.#random.chance(0.2)) continue;
        const at = this.#random.chance(0.6) ? this.#random.below(3_000) : this.#random.below(healAt);
        this.#scheduler.at(at, client.process, "first try", () => this.#useKey(client, `k${key}`, key * 10));
      }
    }
  }

  /** An operation, and looks back at it later: in its window, in its quarantine, and behind both. */
  #useKey(client: Client, key: string, variant: number): void {
    client.begin(key, variant, () => {
      if (client.callsLeft <= 0) return;
      const { windowMs, quarantineMs } = this.#scenario.policies[0];
      const end = windowMs + quarantineMs;
      const pause = this.#random.pick([1_000, 10_000, windowMs, end]);
      const jitter = this.#random.below(10_000);
      // Behind the end, or at the very moment of it, while the record goes.
      const at = pause === end && jitter < 7_000 ? end - 250 + jitter / 14 : pause + jitter;
      this.#scheduler.after(at, client.process, "again", () => this.#useKey(client, key, variant));
    });
  }

  #site(): Site {
    return {
      scheduler: this.#scheduler,
      random: this.#random,
      scenario: this.#scenario,
      hosts: this.#hosts.all(),
      keys: this.#hosts.keys,
      ledgers: this.#hosts.ledgers,
      labels: this.#hosts.labels,
      isolates: this.#workers.isolates,
      crashIsolate: (index) => this.#workers.crash(index),
      origin: this.#origin,
      staff: this.#staff,
      state: this.#state,
      isHealed: () => this.#injector.isHealed,
      note: (row) => this.#note(row),
      mark: (name) => this.#mark(name),
    };
  }

  #planDeeds(): void {
    for (const deed of this.#injector.swarm.deeds) {
      const at = this.#random.chance(0.5)
        ? this.#random.below(8_000)
        : this.#random.below(this.#scenario.healAt);
      this.#scheduler.at(at, OUTSIDE, deed, () => doDeed(this.#site(), deed));
    }
  }

  #heal(): void {
    this.#injector.isHealed = true;
    this.#note({ do: "healed" });
    // What has been rolled out at all is rolled out everywhere in the end.
    if (this.#marks.has("next build")) deployNext(this.#site(), 1);
    for (const { instance } of this.#hosts.all()) if (instance !== null) this.#scheduler.resume(instance);
    for (const isolate of this.#workers.isolates) this.#scheduler.resume(isolate);
    this.#staff.resume();
    // Whoever has lost an alarm is found by the next access, be it only a look; a record that could not be read is looked at again
    // after an hour; all others have to come to rest by themselves.
    const isAlarmLost = this.#marks.has("alarm lost");
    const isAhead = this.#marks.has("record of the future") || this.#marks.has("next build taken back");
    const isLookedAt = isAlarmLost && !isAhead && this.#random.chance(0.5);
    const mayRest = !isAhead && (!isAlarmLost || isLookedAt);
    if (isLookedAt) this.#lookAt(this.#hosts.keys, "look", () => [0]);
    if (mayRest) {
      this.#scheduler.after(RESTED_MS, OUTSIDE, "rested", () => {
        this.#rested = this.#readLeft();
      });
    }
    // One access has to be enough to arm what was lost.
    const isOnce = !mayRest && this.#random.chance(0.5);
    this.#planTail([
      mayRest ? RESTED_MS + 5_000 : PAUSE_MS_MAX + 5_000,
      ...(isOnce ? [] : [RESTED_MS + 60_000]),
    ]);
    this.#lookAt(this.#hosts.ledgers, "checkpoint", ({ name }) => [name]);
  }

  /** Asks each of them once, when all pauses are over. */
  #lookAt(hosts: ReadonlyMap<string, Host>, method: string, given: (host: Host) => readonly unknown[]): void {
    for (const host of hosts.values()) {
      const look = (): void => host.call(method, given(host), () => undefined);
      this.#scheduler.after(PAUSE_MS_MAX, OUTSIDE, "looked at", look);
    }
  }

  /** Clients go on calling, of whom nobody fails any more. */
  #planTail(times: readonly number[]): void {
    const [client] = this.#clients;
    if (client === undefined) return;
    for (let key = 0; key < this.#scenario.keys; key++) {
      for (const after of times) {
        const call = (): void => client.call(`k${key}`, key * 10, () => undefined);
        this.#scheduler.after(after, client.process, "tail", call);
      }
    }
  }

  run(): History {
    const { healAt, probing, policies } = this.#scenario;
    this.#planClients();
    this.#planDeeds();
    this.#scheduler.at(healAt, OUTSIDE, "heal", () => this.#heal());
    const end = healAt + REST_MS;
    while (this.#scheduler.events < EVENTS_MAX && this.#scheduler.step(end));
    // What an alarm has begun at the very end comes to its end, too.
    const isBegun = ({ label }: Task): boolean => !label.startsWith("alarm ");
    while (this.#scheduler.left().some(isBegun) && this.#scheduler.step(end + LAST_WORD_MS));
    const history: History = {
      seed: this.#options.seed,
      rows: this.#rows,
      ledger: this.#readLedger(),
      left: this.#readLeft(),
      rested: this.#rested,
      probing,
      clocks: this.#state.clocks,
      asksRights: policies[0].authorize !== null,
      mayReach: [...ORIGIN_REACH, ...(policies[0].authorize === null ? [] : [policies[0].authorize])],
      quota: this.#readQuota(),
      remains: this.#readRemains(),
      endedAt: end,
      cameToRest: this.#scheduler.events < EVENTS_MAX,
      marks: this.#marks,
      digest: this.#scheduler.digest,
      events: this.#scheduler.events,
    };
    startRun(null);
    return history;
  }

  #readQuota(): History["quota"] {
    const { quota } = this.#scenario.policies[0];
    // All callers are one principal, on one route.
    const [counter] = this.#hosts.quotas.values();
    return quota === null || counter === undefined ? null : { ...quota, clock: counter.clock.offset };
  }

  #readRemains(): Remains {
    const { keys, ledgers, quotas } = this.#hosts;
    const { hasDatabase, hasSmallBundles } = this.#scenario;
    return readRemains({
      hosts: { key: keys, ledger: ledgers, quota: quotas },
      isolates: this.#workers.isolates,
      left: this.#scheduler.left(),
      bundleLines: hasSmallBundles ? 4 : 256,
      hasDatabase,
    });
  }

  #readLeft(): Left[] {
    const { keys, labels } = this.#hosts;
    return [...keys.values()].map((host) => readLeft(host, labels.get(host) ?? "", this.#scheduler.now));
  }

  #readLedger(): LedgerView {
    const { hasLedger, hasDatabase, shards, retentionMs } = this.#scenario;
    if (!hasLedger) return { lines: null, database: null, shown: [], retentionMs };
    const database = hasDatabase ? this.#database : null;
    const { lines, shown } = this.#hosts;
    return readLedger({ shards, database, lines, shown, retentionMs });
  }
}
