/** One run: clients, Workers, key objects, ledger, database, origin and an injector, from the first call until nothing is left to happen. */
import type { Datum, History, LedgerView, Left, Row, Shown } from "../check/history.ts";
import { Client } from "./client.ts";
import type { Base, Deployment, Front, Surroundings } from "./deployment.ts";
import { doDeed, type Site, type State } from "./deeds.ts";
import { type Damping, drawSwarm, Injector } from "./faults.ts";
import { type FieldsInit, SimHeaders } from "./fields.ts";
import { START, startRun } from "./globals.ts";
import { Host, type HostParts, type Instance } from "./host.ts";
import { SimResponse, type SimRequest } from "./http.ts";
import { type Sqlite, SimDatabase } from "./database.ts";
import { readLedger, readLeft } from "./look.ts";
import { Network } from "./network.ts";
import { Origin } from "./origin.ts";
import { Random } from "./random.ts";
import { drawScenario, PAUSE_MS_MAX, type Scenario } from "./scenario.ts";
import { OUTSIDE, Process, Scheduler, type Task } from "./scheduler.ts";
import type { Image } from "./store.ts";
import { Staff } from "./staff.ts";
import { summarise, tokenIn } from "./watch.ts";

const KEY_METHODS = ["fetch", "renew", "settle", "report", "release", "look", "tell", "ask", "resolve"];
const LEDGER_METHODS = ["append", "agree", "ownKey", "verifierKey", "checkpoint"];
const SOUND = { hangs: () => false, fails: () => false };
const EVENTS_MAX = 20_000;
const SECOND = 1_000;
/** After the last fault: all pauses between tries are over, and the longest between two probes. */
const RESTED_MS = 2_900 * SECOND;
/** By then the calls that come last have been answered, and what they left is over too. */
const REST_MS = RESTED_MS + 2_000 * SECOND;

export type RunOptions = {
  seed: number;
  damping: Damping;
  share: { ledger: number; clients: number };
  /** Gets every event and row as it comes; null: nobody looks. */
  trace: ((text: string) => void) | null;
};

export class Isolate extends Process {
  readonly front: Front;
  readonly open = new Set<() => void>();

  constructor(name: string, clock: { offset: number }, version: number, front: Front) {
    super(name, clock, version);
    this.front = front;
  }
}

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
  readonly #rows: Row[] = [];
  readonly #marks = new Map<string, number>();
  readonly #keys = new Map<string, Host>();
  readonly #labels = new Map<Host, string>();
  readonly #ledgers = new Map<string, Host>();
  readonly #isolates: Isolate[] = [];
  readonly #clients: Client[] = [];
  readonly #shown: Shown[] = [];
  #rested: readonly Left[] | null = null;
  readonly #state: State = { version: 0, clocks: { moved: false, backMs: 0 }, isDatabaseDown: false, isLedgerDown: false };
  readonly #staff: Staff;
  #calls = 0;
  #isolatesMade = 0;

  constructor(product: Deployment, base: Base, sqlite: Sqlite, options: RunOptions) {
    this.#product = product;
    this.#base = base;
    this.#options = options;
    const { seed, trace } = options;
    this.#random = new Random(seed, 0);
    const onEvent = trace === null ? null : (task: Task) => trace(`${task.at} ${task.process.name}: ${task.label}`);
    this.#scheduler = new Scheduler(onEvent, (error) => this.#note({ do: "defect", text: `thrown: ${String(error)}` }));
    const random = new Random(seed, 1);
    startRun({
      scheduler: this.#scheduler,
      random: new Random(seed, 2),
      log: (text) => this.#note({ do: "log", text }),
      fetch: (url, init) => this.#askRights(url, init),
      escaped: (error) => this.#note({ do: "defect", text: `nobody listened: ${String(error)}` }),
    });
    this.#scenario = drawScenario(random, product.basePolicy(base), options.share);
    const swarm = drawSwarm(random, options.damping);
    this.#injector = new Injector(swarm, new Random(seed, 3), (name) => this.#mark(name));
    const parts = { scheduler: this.#scheduler, random: new Random(seed, 4), injector: this.#injector };
    this.#network = new Network({ ...parts, mark: (name) => this.#mark(name) });
    this.#origin = new Origin({
      ...parts,
      note: (row) => this.#note(row),
      evidence: (effect, attempt) => this.#signEvidence(effect, attempt),
      releaseStatus: this.#scenario.policies[0].releaseStatuses[0] ?? 429,
    });
    this.#database = new SimDatabase(sqlite, { ...parts, note: (row) => this.#note(row), isDown: () => this.#state.isDatabaseDown && !this.#injector.isHealed });
    this.#around = this.#surround();
    this.#staff = new Staff({
      ...parts,
      product,
      base,
      around: this.#around,
      origin: this.#origin,
      version: () => this.#state.version,
      clock: () => this.#drawClock(),
      note: (row) => this.#note(row),
    });
  }

  #surround(): Surroundings {
    const { policies, shards, hasLedger, hasDatabase } = this.#scenario;
    return {
      policyOf: (version) => policies[version === 0 ? 0 : 1],
      send: this.#network.fetchFrom(this.#origin) as Surroundings["send"],
      keys: this.#network.namespace(KEY_METHODS, (name) => this.#keyHost(name), SOUND),
      ledgers: this.#network.namespace(LEDGER_METHODS, (name) => this.#ledgerHost(name), {
        hangs: () => this.#injector.strikes("ledger hangs"),
        fails: () => (this.#state.isLedgerDown && !this.#injector.isHealed) || this.#injector.strikes("ledger fails"),
      }),
      shards,
      hasLedger,
      database: hasDatabase ? (this.#database as unknown as D1Database) : null,
      retentionMs: 7_776_000 * SECOND,
    };
  }

  #mark(name: string): void {
    this.#marks.set(name, (this.#marks.get(name) ?? 0) + 1);
  }

  #note(row: Datum): void {
    const full = { at: this.#scheduler.now, ...row } as Row;
    this.#rows.push(full);
    this.#options.trace?.(`      ${JSON.stringify(full)}`);
  }

  #signEvidence(effect: string, attempt: string): string {
    let signed = "";
    void this.#product.signEvidence(this.#base, effect, attempt).then((made) => {
      signed = made;
    });
    this.#scheduler.enter(OUTSIDE, () => undefined);
    return signed;
  }

  async #askRights(_url: string, init: RequestInit): Promise<unknown> {
    const isAllowed = new SimHeaders(init.headers as FieldsInit).get("cookie") === "right=yes";
    return new SimResponse(null, { status: isAllowed ? 200 : 403 });
  }

  #hostParts(start: HostParts["start"], changed: HostParts["changed"]): HostParts {
    const injector = this.#injector;
    const random = new Random(this.#options.seed, 5 + this.#keys.size + this.#ledgers.size);
    return {
      scheduler: this.#scheduler,
      epoch: START,
      start,
      changed,
      version: () => this.#state.version,
      mark: (name) => this.#mark(name),
      faults: {
        storageRefuses: () => injector.strikes("storage refuses"),
        crashesBeforeCommit: () => injector.strikes("crash before commit"),
        crashesAfterCommit: () =>
          injector.strikes("crash after commit, kept")
            ? { kept: true }
            : injector.strikes("crash after commit, lost")
              ? { kept: false }
              : null,
        flushMs: () => random.below(8),
        alarmLateMs: () => (injector.strikes("alarm late") ? random.below(120_000) : random.below(20)),
        alarmTwiceMs: () => (injector.strikes("alarm again") ? random.below(5_000) : null),
        alarmIsLost: () => injector.strikes("alarm lost"),
        copies: this.#scenario.copies,
      },
    };
  }

  #keyHost(name: string): Host {
    const known = this.#keys.get(name);
    if (known !== undefined) return known;
    const start = (context: unknown, instance: Instance) =>
      this.#product.openKeyObject(this.#base, this.#around, instance.version, context);
    const parts = this.#hostParts(start, (host, instance, before, after) => this.#stored(host, instance, before, after));
    const host = new Host(name, this.#drawClock(), parts);
    this.#keys.set(name, host);
    return host;
  }

  #ledgerHost(name: string): Host {
    const known = this.#ledgers.get(name);
    if (known !== undefined) return known;
    const start = (context: unknown) => this.#product.openLedgerObject(this.#around, context);
    const parts = this.#hostParts(start, (_host, _instance, before, after) => this.#noteShown(name, before, after));
    const host = new Host(name, this.#drawClock(), parts);
    this.#ledgers.set(name, host);
    return host;
  }

  #drawClock(): { offset: number } {
    const { skewMs } = this.#scenario;
    return { offset: this.#random.between(-skewMs, skewMs) };
  }

  #noteShown(shard: string, before: Image, after: Image): () => void {
    const shown = after.kv.get("published") as { size: number; root: string } | undefined;
    if (shown === undefined || shown === before.kv.get("published")) return () => undefined;
    return () => {
      const published = this.#scenario.hasDatabase ? this.#database.readLines(shard).length : null;
      this.#shown.push({ shard, size: shown.size, root: shown.root, at: this.#scheduler.now, published });
    };
  }

  /** Which key a host holds is learned from what it is asked to run. */
  #labelOf(host: Host, instance: Instance): string {
    const known = this.#labels.get(host);
    if (known !== undefined) return known;
    const request = instance.cause?.given[0];
    const field = (request as SimRequest | undefined)?.headers?.get("oncegate") ?? "";
    const label = /"\/pay\/(k\d+)"/.exec(field)?.[1];
    if (label === undefined) return "";
    this.#labels.set(host, label);
    return label;
  }

  #stored(host: Host, instance: Instance, was: Image, is: Image): () => void {
    const [from, to] = [was.kv.get("record"), is.kv.get("record")];
    if (from === to) return () => undefined;
    const key = this.#labelOf(host, instance);
    const seenFrom = this.#scheduler.now;
    const clock = seenFrom + host.clock.offset;
    const [before, after] = [summarise(from), summarise(to)];
    const method = instance.cause?.method ?? "";
    const token = instance.cause === null ? null : tokenIn(method, instance.cause.given);
    return () => {
      if (after !== null && after.state === "in-flight" && after.effect !== before?.effect) {
        const { windowMs, quarantineMs, executionMsMax, onCrash } = this.#around.policyOf(instance.version);
        const rules = { windowMs, quarantineMs, executionMsMax, onCrash };
        this.#note({ do: "granted", key, clock, seenFrom, effect: after.effect, rules });
      }
      this.#note({ do: "stored", key, clock, method, token, before, after });
    };
  }

  #openIsolate(): Isolate {
    this.#isolatesMade += 1;
    const front = this.#product.openFront(this.#base, this.#around, this.#state.version);
    return new Isolate(`worker${this.#isolatesMade}`, this.#drawClock(), this.#state.version, front);
  }

  /** A client's request on its way to one of the Workers, and the answer back. */
  #send(client: Client, request: SimRequest, answered: (response: SimResponse) => void, lost: () => void): void {
    const { strikes } = { strikes: (name: Parameters<Injector["strikes"]>[0]) => this.#injector.strikes(name) };
    const fail = (): void => void this.#scheduler.after(this.#random.below(200), client.process, "line lost", lost);
    if (strikes("client request lost")) return fail();
    const isolate = this.#isolates[this.#random.below(this.#isolates.length)];
    if (isolate === undefined) return fail();
    this.#scheduler.after(this.#random.below(80), isolate, "request", () => {
      isolate.open.add(fail);
      void isolate.front.fetch(request).then(
        (response) => {
          if (!isolate.open.delete(fail)) return;
          if (strikes("client reply lost")) return fail();
          this.#scheduler.after(this.#random.below(80), client.process, "answer", () =>
            answered(this.#network.carry(isolate, client.process, response as SimResponse)),
          );
        },
        (error) => {
          this.#note({ do: "defect", text: `a Worker threw: ${String(error)}` });
          fail();
        },
      );
    });
    // A Worker that has died meanwhile answers nothing.
    this.#scheduler.after(PAUSE_MS_MAX * 2, client.process, "nothing came", lost);
  }

  #crashIsolate(index: number): void {
    const isolate = this.#isolates[index];
    if (isolate === undefined) return;
    isolate.isAlive = false;
    for (const fail of isolate.open) fail();
    this.#isolates[index] = this.#openIsolate();
  }

  #planClients(): void {
    const { clients, keys, callsPerClient, healAt } = this.#scenario;
    for (let i = 0; i < clients; i++) {
      const client = new Client(
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
          send: (request, answered, lost) => this.#send(client, request, answered, lost),
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
      const pause = this.#random.pick([1_000, 10_000, windowMs, windowMs + quarantineMs + 1_000]);
      const at = pause + this.#random.below(10_000);
      this.#scheduler.after(at, client.process, "again", () => this.#useKey(client, key, variant));
    });
  }

  #site(): Site {
    return {
      scheduler: this.#scheduler,
      random: this.#random,
      scenario: this.#scenario,
      hosts: [...this.#keys.values(), ...this.#ledgers.values()],
      labels: this.#labels,
      isolates: this.#isolates,
      crashIsolate: (index) => this.#crashIsolate(index),
      origin: this.#origin,
      staff: this.#staff,
      state: this.#state,
      note: (row) => this.#note(row),
      mark: (name) => this.#mark(name),
    };
  }

  #planDeeds(): void {
    for (const deed of this.#injector.swarm.deeds) {
      const at = this.#random.chance(0.5) ? this.#random.below(8_000) : this.#random.below(this.#scenario.healAt);
      this.#scheduler.at(at, OUTSIDE, deed, () => doDeed(this.#site(), deed));
    }
  }

  #heal(): void {
    this.#injector.isHealed = true;
    this.#note({ do: "healed" });
    const hosts = [...this.#keys.values(), ...this.#ledgers.values()];
    for (const { instance } of hosts) if (instance !== null) instance.pausedUntil = 0;
    for (const isolate of this.#isolates) isolate.pausedUntil = 0;
    // Whoever has lost an alarm is found by the next access, and a record that could not be read is looked at again after an hour;
    // all others have to come to rest by themselves.
    const mayRest = !["alarm lost", "record of the future"].some((name) => this.#marks.has(name));
    const tail = mayRest ? [RESTED_MS + 5_000, RESTED_MS + 60_000] : [PAUSE_MS_MAX + 5_000, RESTED_MS + 60_000];
    if (mayRest) {
      this.#scheduler.after(RESTED_MS, OUTSIDE, "rested", () => {
        this.#rested = this.#readLeft();
      });
    }
    const [client] = this.#clients;
    if (client === undefined) return;
    for (let key = 0; key < this.#scenario.keys; key++) {
      for (const after of tail) {
        this.#scheduler.after(after, client.process, "tail", () => client.call(`k${key}`, key * 10, () => undefined));
      }
    }
    for (const host of this.#ledgers.values()) {
      this.#scheduler.after(PAUSE_MS_MAX, OUTSIDE, "look at the ledger", () =>
        host.call("checkpoint", [host.name], () => undefined),
      );
    }
  }

  run(): History {
    const { healAt } = this.#scenario;
    this.#isolates.push(this.#openIsolate(), this.#openIsolate());
    this.#planClients();
    this.#planDeeds();
    this.#scheduler.at(healAt, OUTSIDE, "heal", () => this.#heal());
    const end = healAt + REST_MS;
    while (this.#scheduler.events < EVENTS_MAX && this.#scheduler.step(end));
    const cameToRest = this.#scheduler.events < EVENTS_MAX;
    const history: History = {
      seed: this.#options.seed,
      rows: this.#rows,
      ledger: this.#readLedger(),
      left: this.#readLeft(),
      rested: this.#rested,
      probing: this.#scenario.probing,
      clocks: this.#state.clocks,
      asksRights: this.#scenario.policies[0].authorize !== null,
      cameToRest,
      marks: this.#marks,
      digest: this.#scheduler.digest,
      events: this.#scheduler.events,
    };
    startRun(null);
    return history;
  }

  #readLeft(): Left[] {
    return [...this.#keys.values()].map((host) => readLeft(host, this.#labels.get(host) ?? "", this.#scheduler.now));
  }

  #readLedger(): LedgerView {
    const { hasLedger, hasDatabase, shards } = this.#scenario;
    if (!hasLedger) return { lines: null, database: null, shown: [] };
    const database = hasDatabase ? this.#database : null;
    return readLedger({ shards, database, host: (shard) => this.#ledgers.get(shard) ?? null, shown: this.#shown });
  }
}
